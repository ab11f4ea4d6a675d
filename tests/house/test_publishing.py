"""Files published beside the wheel and the image: archives, the chart and manifests, as installers read them."""

from __future__ import annotations

import hashlib
import http.server
import importlib.util
import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb import __version__
from tests.conftest import ROOT
from tests.engine.builders import node, pod
from tests.originals.charts import Helm
from tests.support.needs import missing

ADDRESS = "https://git.example.com/OWNER/kschedweb"


def load_packages() -> Any:
    specification = importlib.util.spec_from_file_location("packages", ROOT / "deploy" / "packages.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


packages = load_packages()


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manifests of a release of two archives and of the plugin for Headlamp."""
    dist = tmp_path_factory.mktemp("dist")
    for name in ("linux_amd64", "darwin_arm64"):
        (dist / f"kubectl-ksched_{name}.tar.gz").write_bytes(name.encode())
    (dist / f"kschedweb-headlamp-{__version__}.tar.gz").write_bytes(b"headlamp")
    packages.write_manifests(dist, ADDRESS)
    return dist


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_krew_finds_each_archive_by_its_checksum(manifests: Path) -> None:
    manifest = yaml.safe_load((manifests / "ksched.yaml").read_text())
    specification = manifest["spec"]
    assert (manifest["metadata"]["name"], specification["version"]) == ("ksched", f"v{__version__}")
    # The index takes no longer one, and no full stop at its end.
    assert len(specification["shortDescription"]) <= 50
    assert not specification["shortDescription"].endswith(".")
    assert [platform["selector"]["matchLabels"] for platform in specification["platforms"]] == [
        {"os": "darwin", "arch": "arm64"},
        {"os": "linux", "arch": "amd64"},
    ]
    for platform in specification["platforms"]:
        address, _, name = platform["uri"].rpartition("/")
        assert address == f"{ADDRESS}/releases/download/v{__version__}"
        assert platform["sha256"] == checksum(manifests / name)
        assert platform["bin"] == "kubectl-ksched"


def test_headlamps_catalogue_finds_its_archive_by_its_checksum(manifests: Path) -> None:
    package = yaml.safe_load((manifests / "artifacthub-pkg.yml").read_text())
    name = f"kschedweb-headlamp-{__version__}.tar.gz"
    assert package["version"] == __version__
    assert package["annotations"]["headlamp/plugin/archive-url"].endswith(f"/v{__version__}/{name}")
    assert package["annotations"]["headlamp/plugin/archive-checksum"] == f"SHA256:{checksum(manifests / name)}"


def test_the_formula_names_each_archive_and_is_ruby(manifests: Path) -> None:
    formula = manifests / "kschedweb.rb"
    text = formula.read_text()
    for name in ("linux_amd64", "darwin_arm64"):
        assert f'sha256 "{checksum(manifests / f"kubectl-ksched_{name}.tar.gz")}"' in text
    assert "$" not in text.replace("#{", "")
    if not shutil.which("ruby"):
        missing("install ruby")
    # Homebrew evaluates it so: what it declares is asked of a class of the same words.
    script = """
        class Formula
          def self.method_missing(*words, **, &block) = (puts words.join(" "); block && instance_eval(&block))
          def self.respond_to_missing?(*) = true
          def self.test = nil
        end
        load ARGV[0]
    """
    process = subprocess.run(["ruby", "-e", script, str(formula)], capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    assert lines[1:4] == [f"homepage {ADDRESS}", f"version {__version__}", "license Apache-2.0"]
    assert lines[4:8] == [
        "on_macos", "on_arm",
        f"url {ADDRESS}/releases/download/v{__version__}/kubectl-ksched_darwin_arm64.tar.gz",
        f"sha256 {checksum(manifests / 'kubectl-ksched_darwin_arm64.tar.gz')}",
    ]  # fmt: skip


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A registry on this machine that has the chart's layout, as copied there."""
    _, layout = packages.write_chart(tmp_path)
    (descriptor,) = json.loads((layout / "index.json").read_text())["manifests"]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, reference = self.path.rstrip("/").rsplit("/", 2)[-2:]
            tag = descriptor["annotations"]["org.opencontainers.image.ref.name"]
            digest = descriptor["digest"] if reference == tag else reference
            path = layout / "blobs" / digest.replace(":", "/")
            if self.path == "/v2/":
                content, media_type = b"{}", "application/json"
            elif path.is_file():
                content = path.read_bytes()
                media_type = descriptor["mediaType"] if kind == "manifests" else "application/octet-stream"
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", digest)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}", tmp_path / f"kschedweb-{__version__}.tgz"
        server.shutdown()


@pytest.mark.server
def test_helm_pulls_the_chart_from_a_registry_and_makes_of_it_what_the_folder_gives(
    helm: Helm, registry: tuple[str, Path], tmp_path: Path
) -> None:
    address, package = registry
    target = tmp_path / "pulled"
    target.mkdir()
    pull = helm.run(
        "pull", f"oci://{address}/charts/kschedweb", "--version", __version__, "--plain-http", "-d", str(target)
    )
    assert pull.returncode == 0, pull.stderr
    (pulled,) = target.iterdir()
    assert pulled.read_bytes() == package.read_bytes()
    rendered = helm.run("template", "kschedweb", str(pulled), "--namespace", "kschedweb")
    assert rendered.stdout == helm.text()
    assert helm.run("lint", str(pulled)).returncode == 0


@pytest.mark.server
@pytest.mark.nightly
def test_the_archive_is_a_plugin_of_kubectl_that_needs_no_python(kubectl_program: Path, tmp_path: Path) -> None:
    """Built as for a release, unpacked as krew does it, in an environment that has kubectl and nothing else."""
    built = subprocess.run(["make", "plugin"], cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr
    store, folder = tmp_path / "store", tmp_path / "bin"
    folder.mkdir()
    with tarfile.open(ROOT / built.stdout.split()[-1]) as archive:
        archive.extractall(store, filter="tar")
    (folder / "kubectl-ksched").symlink_to(store / "kubectl-ksched")
    (folder / "kubectl").symlink_to(kubectl_program)
    dump = tmp_path / "cluster.json"
    dump.write_text(json.dumps({"kind": "List", "items": [node("a"), pod("big", requests={"cpu": "6"})]}))
    process = subprocess.run(
        ["kubectl", "ksched", "why", "big", "--snapshot", str(dump), "-o", "json"],
        env={"PATH": str(folder), "HOME": str(tmp_path)}, executable=folder / "kubectl",
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert process.returncode == 1, process.stderr
    answer = json.loads(process.stdout)
    assert (answer["state"], bool(answer["fixes"])) == ("stuck", True)
    assert (ROOT / built.stdout.split()[-1]).stat().st_size < 64 * 2**20


@pytest.mark.server
@pytest.mark.nightly
def test_the_plugin_of_headlamp_passes_its_own_tests_and_is_packed() -> None:
    """With Headlamp's published library: types, lint, format and vitest."""
    folder = ROOT / "deploy" / "headlamp"
    built = subprocess.run(["make", "headlamp"], cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert built.returncode == 0, built.stderr
    with tarfile.open(ROOT / built.stdout.split()[-1]) as archive:
        assert {Path(name).name for name in archive.getnames()} >= {"main.js", "package.json"}
    for script in ("check", "test"):
        process = subprocess.run(
            ["npm", "run", script], cwd=folder, env={**os.environ, "CI": "true"},
            capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        assert process.returncode == 0, process.stdout[-5000:]
