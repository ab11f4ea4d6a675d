"""The first answer about a person's own cluster of 5,000 nodes and 50,000 pods, through the real kubectl.

``make bench ARGS='-m nightly tests/bench/test_own_cluster.py'`` prints seconds of the clock and of a processor, and the
memory of each command. Reference: kubectl's own list of these pods as JSON, in the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.engine.builders import node, pod
from tests.support.controlplane import READ_EVERYTHING, ControlPlane
from tests.support.kubescheduler import kubeconfig

pytestmark = [pytest.mark.nightly, pytest.mark.server, pytest.mark.live]
NODES, PODS, PENDING, APPS, ZONES = 5_000, 50_000, 200, 500, 3
LARGE, HUGE = {"cpu": "40"}, {"cpu": "41"}  # more than a node has
# Processor seconds at most, as a part of those that kubectl takes to list the pods.
SHARE = 0.5
# A process begins with the memory of the one that started it as its peak: here that is a small one.
RUNNER = """
import json, resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""
COMMANDS = {"why": ["why", "pending-0"], "pending": ["pending"], "node": ["node", "node-1"], "fit": ["fit", "-f"]}


@pytest.fixture(scope="module")
def terminal(assets: Path, kubectl_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a person with a kubeconfig, and the cluster behind it."""
    folder = tmp_path_factory.mktemp("large")
    with ControlPlane(assets, folder).started() as plane:
        plane.grant("reader", READ_EVERYTHING)
        room = {"cpu": "16", "memory": "64Gi"}
        plane.create_nodes(node(f"node-{number}", labels=_zone(number), allocatable=room) for number in range(NODES))
        plane.create_all("/api/v1/namespaces/default/pods", _make_pods())
        file = folder / "kubeconfig"
        file.write_text(json.dumps(kubeconfig(plane, "reader")))
        yield {
            "PATH": f"{kubectl_program.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder),
            "KUBECONFIG": str(file), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8",
        }  # fmt: skip


def _zone(number: int) -> dict[str, str]:
    return {"topology.kubernetes.io/zone": f"zone-{number % ZONES}"}


def _make_pods() -> Iterator[dict]:
    for number in range(PODS - PENDING):
        requests = {"cpu": "1", "memory": "4Gi"}
        yield pod(
            f"pod-{number}", on=f"node-{number % NODES}", labels={"app": f"app-{number % APPS}"}, requests=requests
        )
    for number in range(PENDING):
        yield pod(f"pending-{number}", requests=LARGE if number else HUGE)


@pytest.fixture(scope="module")
def listing_seconds(terminal: dict[str, str]) -> float:
    """Processor seconds of kubectl for the list of all pods."""
    return _measure(["kubectl", "get", "pods", "--all-namespaces", "--output", "json"], terminal, {0})


@pytest.mark.parametrize("command", COMMANDS)
def test_the_first_answer_takes_less_than_a_list_of_pods(
    command: str, terminal: dict[str, str], listing_seconds: float, tmp_path: Path
) -> None:
    words = list(COMMANDS[command])
    if command == "fit":
        manifest = tmp_path / "pod.json"
        manifest.write_text(json.dumps(pod("new", requests={"cpu": "3"})))
        words.append(str(manifest))
    seconds = _measure([sys.executable, "-m", "kschedweb.cli", *words], terminal, {0, 1})
    assert seconds <= SHARE * listing_seconds


def _measure(command: list[str], environment: dict[str, str], statuses: set[int]) -> float:
    """Return processor seconds of ``command`` and its children, and print them with the clock's and the memory."""
    begin = time.perf_counter()
    runner = [sys.executable, "-c", RUNNER, *command]
    process = subprocess.run(runner, env=environment, capture_output=True, text=True, timeout=600, check=True)
    status, seconds, kibibytes = json.loads(process.stdout)
    elapsed, memory = time.perf_counter() - begin, kibibytes // 1024
    print(f"{' '.join(command[-3:])}: {elapsed:.1f} s, {seconds:.1f} s of a processor, {memory} MiB")
    assert status in statuses
    return float(seconds)
