"""A question to a process that has just begun: processor seconds beside kube-scheduler's own code, in turn."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench import workloads
from tests.conftest import ROOT

CompareSeconds = Callable[[str, float, float, float], None]
RUNS = 5
# How many times what kube-scheduler's code takes to place one pod on 5,000 nodes.
ANSWER, VERSION, READING = 2.05, 0.5, 1.5
ENGINE, CLI = [sys.executable, "-m", "kschedweb.engine"], [sys.executable, "-m", "kschedweb.cli"]


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One pod on 5,000 nodes."""
    file = tmp_path_factory.mktemp("cold") / "scenario.json"
    file.write_text(json.dumps(workloads.scenario("basic", pending=1)))
    return file


@pytest.fixture
def snapshot(scenario: Path) -> Path:
    """The same as a dump of a cluster."""
    raw = json.loads(scenario.read_text())
    file = scenario.with_name("snapshot.json")
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*raw["objects"], *raw["pending"]]}))
    return file


def measure_seconds(command: list[str], input_file: Path) -> float:
    """Processor seconds of a process of its own, from its start to its end."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with input_file.open() as text:
        subprocess.run(command, cwd=ROOT, env=environment, stdin=text, capture_output=True, timeout=300, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def in_turn(ours: list[str], theirs: list[str], input_file: Path, runs: int = RUNS) -> tuple[float, float]:
    """Medians of processor seconds of both, after a run of each that is not counted."""
    pairs = [(measure_seconds(ours, input_file), measure_seconds(theirs, input_file)) for _ in range(runs + 1)][1:]
    our_seconds, their_seconds = (statistics.median(seconds) for seconds in zip(*pairs, strict=True))
    return our_seconds, their_seconds


@pytest.mark.parametrize("command", ["schedule", "explain"])
def test_one_pod_on_many_nodes(command: str, assets: Path, scenario: Path, compare_seconds: CompareSeconds) -> None:
    our_seconds, their_seconds = in_turn([*ENGINE, command], [str(assets / "oracle"), command], scenario)
    compare_seconds(f"{command}, one pod on 5,000 nodes", our_seconds, their_seconds, ANSWER)


def test_one_pod_of_a_dump(assets: Path, scenario: Path, snapshot: Path, compare_seconds: CompareSeconds) -> None:
    ours = [*CLI, "explain", "bench/pending-0", "--snapshot", str(snapshot)]
    our_seconds, their_seconds = in_turn(ours, [str(assets / "oracle"), "explain"], scenario)
    compare_seconds("kschedweb explain --snapshot, the same", our_seconds, their_seconds, ANSWER)


def test_the_version(assets: Path, scenario: Path, compare_seconds: CompareSeconds) -> None:
    our_seconds, their_seconds = in_turn([*CLI, "--version"], [str(assets / "oracle"), "schedule"], scenario)
    compare_seconds("kschedweb --version beside that schedule", our_seconds, their_seconds, VERSION)


@pytest.mark.nightly
def test_reading_a_large_cluster(assets: Path, tmp_path: Path, compare_seconds: CompareSeconds) -> None:
    make = workloads.KINDS["zone spread"]
    objects = [workloads.node(number) for number in range(5000)]
    objects += [workloads.pod(f"pod-{number}", *make(number), node_number=number % 5000) for number in range(50_000)]
    pending = [workloads.pod("pending", *make(0))]
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"config": workloads.CONFIG, "objects": objects, "pending": pending}))
    our_seconds, their_seconds = in_turn([*ENGINE, "schedule"], [str(assets / "oracle"), "schedule"], file, runs=3)
    compare_seconds("schedule, one pod beside 50,000 on 5,000 nodes", our_seconds, their_seconds, READING)
