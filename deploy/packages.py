"""What is published beside the wheel and the image, in dist/. docs/publishing.md says where each part goes.

deploy/packages.py plugin             the archive of the kubectl plugin, from dist/kubectl-ksched
deploy/packages.py chart              the chart as helm packages it, and as an OCI layout
deploy/packages.py manifests ADDRESS  krew's, Homebrew's and Headlamp's, of a release at ADDRESS, with checksums
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import platform
import re
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "helm" / "kschedweb"
PLUGIN = "kubectl-ksched"
# As Go, krew and Homebrew name machines.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
HOMEBREW = {"linux": "linux", "darwin": "macos", "amd64": "intel", "arm64": "arm"}
ARCHIVE = re.compile(rf"{PLUGIN}_(?:linux|darwin)_(?:amd64|arm64)\.tar\.gz")
HELM = "application/vnd.cncf.helm"
OCI = "application/vnd.oci.image"
Json = dict[str, Any]


def _read_chart() -> Json:
    metadata: Json = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    return metadata


def archive(folder: Path, prefix: str, files: Iterable[Path]) -> bytes:
    """A tar.gz of ``files`` in ``folder``, whose names begin with ``prefix``: the same bytes for the same contents."""
    tar_bytes = io.BytesIO()
    with tarfile.open(fileobj=tar_bytes, mode="w") as tar:
        for path in files:
            info = tar.gettarinfo(str(path), prefix + path.relative_to(folder).as_posix())
            info.uid, info.gid, info.uname, info.gname, info.mtime = 0, 0, "", "", 0
            info.mode = 0o755 if info.mode & 0o100 else 0o644
            if info.isreg():
                tar.addfile(info, io.BytesIO(path.read_bytes()))
            else:
                tar.addfile(info)
    return gzip.compress(tar_bytes.getvalue(), mtime=0)


def write_plugin(dist: Path) -> Path:
    """Pack what PyInstaller left in dist/kubectl-ksched, with the license, for this machine's kind."""
    folder = dist / PLUGIN
    (folder / "LICENSE").write_bytes((ROOT / "LICENSE").read_bytes())
    kind = f"{platform.system().lower()}_{ARCHITECTURES[platform.machine()]}"
    target = dist / f"{PLUGIN}_{kind}.tar.gz"
    target.write_bytes(archive(folder, "", sorted(path for path in folder.rglob("*") if not path.is_dir())))
    return target


def write_chart(dist: Path) -> list[Path]:
    """Write the chart as `helm package` does, and as an OCI layout that oras, skopeo or crane copies to a registry."""
    metadata = _read_chart()
    version = metadata["version"]
    files = sorted(path for path in CHART.rglob("*") if path.is_file() and path.suffix != ".orig")
    layer = archive(CHART, "kschedweb/", files)
    package = dist / f"kschedweb-{version}.tgz"
    package.write_bytes(layer)
    layout = dist / "kschedweb-chart"
    config = _write_blob(layout, f"{HELM}.config.v1+json", _json(metadata))
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": config,
        "layers": [_write_blob(layout, f"{HELM}.chart.content.v1.tar+gzip", layer)],
        "annotations": {
            "org.opencontainers.image.title": metadata["name"],
            "org.opencontainers.image.description": metadata["description"],
            "org.opencontainers.image.version": version,
        },
    }
    descriptor = _write_blob(layout, manifest["mediaType"], _json(manifest))
    descriptor["annotations"] = {"org.opencontainers.image.ref.name": version}
    (layout / "oci-layout").write_bytes(_json({"imageLayoutVersion": "1.0.0"}))
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [descriptor]}
    (layout / "index.json").write_bytes(_json(index))
    return [package, layout]


def _write_blob(layout: Path, media_type: str, content: bytes) -> Json:
    """Store ``content`` under its checksum, and return its descriptor."""
    digest = hashlib.sha256(content).hexdigest()
    path = layout / "blobs" / "sha256" / digest
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _json(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def write_manifests(dist: Path, address: str) -> list[Path]:
    """Write the manifests of a release whose files are at ``address``/releases/download/vVERSION/."""
    version = _read_chart()["version"]
    facts = {"address": address.rstrip("/"), "version": version}
    facts["files"] = f"{facts['address']}/releases/download/v{version}"
    archives = sorted(path for path in dist.glob("*.tar.gz") if ARCHIVE.fullmatch(path.name))
    if not archives:
        raise SystemExit(f"{dist} has no archive of the plugin: `make plugin` makes that of this machine's kind.")
    written = []
    for name, write_platform in (("ksched.yaml", _krew_platform), ("kschedweb.rb", _homebrew_platform)):
        platforms = "".join(write_platform(path, f"{facts['files']}/{path.name}") for path in archives)
        written.append(_fill(name, dist, **facts, platforms=platforms))
    headlamp = dist / f"kschedweb-headlamp-{version}.tar.gz"
    if headlamp.exists():
        written.append(_fill("artifacthub-pkg.yml", dist, **facts, archive=headlamp.name, checksum=_checksum(headlamp)))
    return written


def _fill(name: str, dist: Path, **values: str) -> Path:
    """Write the template ``name`` with ``values`` to ``dist``, and return its path."""
    template = Template((ROOT / "deploy" / "publish" / name).read_text(encoding="utf-8"))
    (dist / name).write_text(template.substitute(values), encoding="utf-8")
    return dist / name


def _split_platform(path: Path) -> list[str]:
    """Return system and architecture, as Go names them, of an archive."""
    return path.name.removesuffix(".tar.gz").split("_")[1:]


def _krew_platform(path: Path, address: str) -> str:
    system, architecture = _split_platform(path)
    return f"""\
    - selector: {{matchLabels: {{os: {system}, arch: {architecture}}}}}
      uri: {address}
      sha256: {_checksum(path)}
      bin: {PLUGIN}
"""


def _homebrew_platform(path: Path, address: str) -> str:
    system, architecture = (HOMEBREW[word] for word in _split_platform(path))
    return f"""\
  on_{system} do
    on_{architecture} do
      url "{address}"
      sha256 "{_checksum(path)}"
    end
  end
"""


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    match sys.argv[1:]:
        case ["plugin"]:
            written = [write_plugin(dist)]
        case ["chart"]:
            written = write_chart(dist)
        case ["manifests", address]:
            written = write_manifests(dist, address)
        case _:
            raise SystemExit(__doc__)
    for path in written:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
