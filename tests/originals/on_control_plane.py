"""Build a component on the Kubernetes libraries of the test control plane.

    python3 tests/originals/on_control_plane.py descheduler|karpenter FOLDER

With the library versions of its own go.mod a component takes six minutes and more on two cores. Where the control plane
was built, its compiled packages are in Go's cache, so that this takes about one. To get below the versions that a
component asks for, its modules are copied to a scratch folder and their go.mod files emptied. Both ways gave the same
answers to all recorded scenarios. Only the standard library is used.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).resolve().parent
CONTROL_PLANE = FOLDER / "controlplane"
EMPTIED = {
    "descheduler": {"sigs.k8s.io/descheduler": "v0.36.0"},
    "karpenter": {
        "sigs.k8s.io/karpenter": "v1.15.0",
        "github.com/awslabs/operatorpkg": "v0.0.0-20261002163259-5e8ed3699dea",
        "github.com/mitchellh/hashstructure/v2": "v2.0.2",
        "github.com/patrickmn/go-cache": "v2.1.0+incompatible",
        "github.com/samber/lo": "v1.53.0",
        "k8s.io/autoscaler/vertical-pod-autoscaler": "v1.7.0",
        "sigs.k8s.io/controller-runtime": "v0.24.1",
        "github.com/evanphx/json-patch/v5": "v5.9.11",
        "gomodules.xyz/jsonpatch/v2": "v2.5.0",
    },
}
"""Modules of a component whose source is copied."""


def plain_modules(name: str, kubernetes: str) -> dict[str, str]:
    """Modules that a component needs beside those of the control plane, taken as they are."""
    if name != "descheduler":
        return {}
    return {"golang.org/x/exp": "v0.0.0-20251219203646-944ab1f22d93", "k8s.io/metrics": kubernetes}


def copy_module(scratch: Path, module: str, version: str) -> Path:
    """Unpack a module's source beside a go.mod that asks for nothing."""
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "on"}
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    # It ends with an error where the module asks for a newer Go, and the archive is there all the same.
    download = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=scratch)
    target, prefix = scratch / module.replace("/", "_"), f"{module}@{version}/"
    with zipfile.ZipFile(json.loads(download.stdout)["Zip"]) as archive:
        for entry in archive.infolist():
            if entry.filename.startswith(prefix) and not entry.is_dir():
                path = target / entry.filename[len(prefix) :]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(entry))
    (target / "go.mod").write_text(f"module {module}\n\ngo 1.26.0\n")
    return target


def write_module(name: str, scratch: Path) -> Path:
    """Lay the component's program into a folder, with a go.mod that has the control plane's versions."""
    text = (CONTROL_PLANE / "go.mod").read_text()
    client = re.search(r"(?m)^\s+k8s\.io/client-go (v\S+)", text)
    assert client is not None, "the control plane's go.mod names no client-go"
    text = re.sub(r"(?s)\ntool \(.*?\)\n", "\n", text)
    text = re.sub(r"(?m)^module .*$", f"module oracle/{name}", text, count=1)
    (scratch / "go.mod").write_text("module scratch\n")
    replaced = ""
    for module, version in EMPTIED[name].items():
        source = copy_module(scratch, module, version)
        text += f"\nrequire {module} {version}\n"
        replaced += f"replace {module} => {source}\n"
        if module == "sigs.k8s.io/descheduler":  # telemetry alone: the schema that the older library has
            tracing = source / "pkg/tracing/tracing.go"
            tracing.write_text(re.sub(r"semconv/v1\.\d+\.0", "semconv/v1.39.0", tracing.read_text()))
    text += "".join(f"\nrequire {module} {version}\n" for module, version in plain_modules(name, client[1]).items())
    folder = scratch / "program"
    folder.mkdir()
    (folder / "go.mod").write_text(text + replaced)
    (folder / "go.sum").write_text((CONTROL_PLANE / "go.sum").read_text() + (FOLDER / name / "go.sum").read_text())
    for source in (FOLDER / name).glob("*.go"):
        (folder / source.name).write_text(source.read_text())
    return folder


def main(name: str, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
    with TemporaryDirectory() as scratch:
        folder = write_module(name, Path(scratch))
        program = out.resolve() / f"{name}.new"
        command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(program), "."]
        subprocess.run(command, cwd=folder, env=environment, check=True)
    program.rename(out / name)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
