"""An upgrade moves the pods that the two releases of kube-scheduler put elsewhere."""

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
from tests.conformance.upgrades import CLUSTERS, CONFIG, GOLDENS, placed, scenario

PLACED = {
    row["release"]: row["clusters"]
    for row in map(json.loads, lzma.decompress(GOLDENS.read_bytes()).decode().splitlines())
}
PAIRS = [("1.35", "1.37"), ("1.35", "1.36"), ("1.36", "1.37")]


def moved(cluster: str, first: str, second: str) -> dict[str, tuple[str, str]]:
    """The pods that the two releases put on different nodes, as recorded."""
    after = PLACED[second][cluster]
    both = {pod: (node, after[pod]) for pod, node in PLACED[first][cluster].items()}
    return {pod: (here, there) for pod, (here, there) in both.items() if here != there}


def test_each_release_is_recorded_and_some_differ() -> None:
    assert set(PLACED) == set(RELEASES)
    for cluster, count in (("demo", 302), ("openb", 600)):
        assert all(len(clusters[cluster]) == count for clusters in PLACED.values())
        assert any(moved(cluster, *pair) for pair in combinations(PLACED, 2))


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_report_has_the_pods_that_the_two_releases_put_elsewhere(
    shared: Path, cluster: str, first: str, second: str
) -> None:
    before, after = (Policy("policy", json.dumps(CONFIG), RELEASES[name]) for name in (first, second))
    prepared = prepared_of(CLUSTERS[cluster](shared))
    found = verdict(prepared, GateQuestion(after, before, Thresholds(), cluster))
    assert found.upgrade is not None
    expected = moved(cluster, first, second)
    assert sum(group["count"] for group in found.upgrade["pods"]) == len(expected)
    told = {pod["pod"]: (pod["before"], pod["after"]) for group in found.upgrade["pods"] for pod in group["pods"]}
    assert told == {pod: expected.get(pod) for pod in told}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_record_is_what_the_oracle_says(shared: Path, reference: Reference, cluster: str) -> None:
    asked = scenario(cluster, CLUSTERS[cluster](shared))
    assert placed(reference, asked) == PLACED[reference.release.name][cluster]
