"""The real kubectl, and kwok as the kubelets of nodes that exist only as objects."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.kubescheduler import kubeconfig
from tests.support.needs import missing
from tests.support.processes import free_port, running, wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane


class Kubectl:
    """kubectl as the admin of ``plane``: ``run`` gives what it prints, and raises what it complains of."""

    def __init__(self, program: Path, plane: ControlPlane, folder: Path) -> None:
        self._config = kubeconfig_file(plane, folder)
        self._command = [str(program), "--kubeconfig", str(self._config), "--cache-dir", str(folder / "cache")]

    def run(self, *arguments: str, manifest: dict[str, Any] | None = None) -> str:
        """Return the output of ``kubectl ARGUMENTS``; ``manifest`` is its standard input, as with ``-f -``."""
        text = None if manifest is None else json.dumps(manifest)
        process = subprocess.run([*self._command, *arguments], input=text, capture_output=True, text=True, timeout=60)
        if process.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {process.stderr[-1000:]}")
        return process.stdout

    def table(self, *arguments: str) -> list[dict[str, str]]:
        """The rows that ``kubectl ARGUMENTS`` prints, by the heads of their columns."""
        return rows(self.run(*arguments).splitlines())

    def events(self, pod: str) -> list[dict[str, str]]:
        """The events at the end of ``kubectl describe pod POD``: Type, Reason, Age, From, Message."""
        _, _, table = self.run("describe", "pod", pod).partition("\nEvents:")
        lines = [line for line in table.splitlines() if line.startswith("  ") and not line.startswith("  ----")]
        return rows(lines) if lines else []


def rows(lines: list[str]) -> list[dict[str, str]]:
    """A table of kubectl's, whose columns are as wide as their widest cell; heads may be of several words."""
    head, *body = lines
    heads = list(re.finditer(r"\S+(?: \S+)*", head))
    ends = [*(following.start() for following in heads[1:]), None]
    return [{name[0]: line[name.start() : end].strip() for name, end in zip(heads, ends, strict=True)} for line in body]


def kubeconfig_file(plane: ControlPlane, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "kubeconfig"
    path.write_text(json.dumps(kubeconfig(plane, "admin")))
    return path


@contextlib.contextmanager
def kwok(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Every node of ``plane`` is kept ready, and pods that are bound to it begin to run, while this lasts."""
    command = [
        str(plane.assets / "kwok"), "--kubeconfig", str(kubeconfig_file(plane, folder)), "--manage-all-nodes",
        "--config", str(Path(__file__).parent / "kwok.yaml"), "--server-address", f"127.0.0.1:{free_port()}",
    ]  # fmt: skip
    log = folder / "kwok.log"
    with running(command, log) as process:

        def joined() -> bool:
            assert process.poll() is None, log.read_text()[-2000:]
            nodes = plane.call("GET", "/api/v1/nodes")["items"]
            return all(node["status"]["nodeInfo"]["kubeletVersion"] == "kwok" for node in nodes)

        wait_until(joined, "kwok plays the nodes' kubelets")
        yield


@pytest.fixture(scope="session")
def kubectl_program() -> Path:
    """Return the path of kubectl (``KUBECTL``)."""
    program = os.environ.get("KUBECTL")
    if not program:
        missing("set KUBECTL to what tests/originals/build kubectl prints")
    return Path(program)


@pytest.fixture
def kubectl(kubectl_program: Path, control_plane: ControlPlane, tmp_path: Path) -> Kubectl:
    """kubectl as the admin of the control plane."""
    return Kubectl(kubectl_program, control_plane, tmp_path / "kubectl")
