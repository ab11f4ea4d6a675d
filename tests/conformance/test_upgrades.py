"""An upgrade on the recorded cluster moves the pods that the two releases of kube-scheduler put elsewhere."""

from __future__ import annotations

import json
import lzma
from itertools import combinations
from pathlib import Path

import pytest

from kschedweb.engine.releases import RELEASES
from kschedweb.engine.studies.gate.gate import GateQuestion, Policy, prepared_of, verdict
from kschedweb.engine.studies.gate.thresholds import Thresholds
from tests.conformance.reference import Reference
from tests.conformance.upgrades import GOLDENS, PODS, placed, scenario

NODES = {
    row["release"]: row["nodes"] for row in map(json.loads, lzma.decompress(GOLDENS.read_bytes()).decode().splitlines())
}
PAIRS = [("1.35", "1.37"), ("1.35", "1.36"), ("1.36", "1.37")]


def moved(first: str, second: str) -> dict[str, tuple[str, str]]:
    """The pods that the two releases put on different nodes, as recorded."""
    both = [(pod, node, NODES[second][pod]) for pod, node in NODES[first].items()]
    return {pod: (before, after) for pod, before, after in both if before != after}


def test_each_release_is_recorded_and_some_differ() -> None:
    assert set(NODES) == set(RELEASES)
    assert all(len(nodes) == PODS for nodes in NODES.values())
    assert any(moved(*pair) for pair in combinations(NODES, 2))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_report_has_the_pods_that_the_two_releases_put_elsewhere(shared: Path, first: str, second: str) -> None:
    asked = scenario(shared)
    before, after = (Policy("policy", json.dumps(asked["config"]), RELEASES[name]) for name in (first, second))
    found = verdict(
        prepared_of([*asked["objects"], *asked["pending"]]), GateQuestion(after, before, Thresholds(), "openb")
    )
    assert found.upgrade is not None
    expected = moved(first, second)
    assert sum(group["count"] for group in found.upgrade["pods"]) == len(expected)
    told = {pod["pod"]: (pod["before"], pod["after"]) for group in found.upgrade["pods"] for pod in group["pods"]}
    assert told == {pod: expected.get(pod) for pod in told}


def test_the_record_is_what_the_oracle_says(shared: Path, reference: Reference) -> None:
    assert placed(reference, scenario(shared)) == NODES[reference.release.name]
