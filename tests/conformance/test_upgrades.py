"""An upgrade moves the pods that the two releases of kube-scheduler put elsewhere."""

from __future__ import annotations

import itertools
import json

import pytest

from kschedweb.engine.releases import RELEASES
from kschedweb.engine.studies.gate.gate import GatePolicy, GateQuestion, compute_verdict, prepared_of
from kschedweb.engine.studies.gate.thresholds import Thresholds
from tests.conformance.reference import Reference
from tests.conformance.upgrades import CLUSTERS, CONFIG, PODS, placed, read_lines, scenario
from tests.support.tiers import one_of

PLACED = {row["release"]: row["clusters"] for row in map(json.loads, read_lines())}
# The newest is always asked, of the others one in a commit's tier.
PAIRS = [("1.37", "1.38"), *one_of(("1.35", "1.37"), ("1.35", "1.36"), ("1.36", "1.37"))]
WHOLE = pytest.param("openb", PODS, marks=pytest.mark.nightly)
FEW = 600  # of the recorded cluster's pods, which a commit's tier asks about


def nodes(release: str, cluster: str, pods: int) -> dict[str, str]:
    """The node of each of the first ``pods``, as recorded: later ones change nothing for them."""
    return dict(itertools.islice(PLACED[release][cluster].items(), pods))


def moved(cluster: str, first: str, second: str, pods: int) -> dict[str, tuple[str, str]]:
    """Those of the first ``pods`` that the two releases put on different nodes, as recorded."""
    after = nodes(second, cluster, pods)
    both = {pod: (node, after[pod]) for pod, node in nodes(first, cluster, pods).items()}
    return {
        pod: (first_node, second_node) for pod, (first_node, second_node) in both.items() if first_node != second_node
    }


def test_each_release_is_recorded_and_some_differ() -> None:
    assert set(PLACED) == set(RELEASES)
    for cluster, count in (("demo", 302), ("openb", PODS)):
        assert all(len(clusters[cluster]) == count for clusters in PLACED.values())
        assert any(moved(cluster, *pair, count) for pair in itertools.combinations(PLACED, 2))


@pytest.mark.parametrize(("cluster", "pods"), [("demo", FEW), ("openb", FEW), WHOLE])
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_report_has_the_pods_that_the_two_releases_put_elsewhere(
    cluster: str, pods: int, first: str, second: str
) -> None:
    before, after = (GatePolicy("policy", json.dumps(CONFIG), RELEASES[name]) for name in (first, second))
    prepared = prepared_of(CLUSTERS[cluster](pods))
    verdict = compute_verdict(prepared, GateQuestion(after, before, Thresholds(), cluster))
    assert verdict.upgrade is not None
    expected = moved(cluster, first, second, pods)
    assert sum(group["count"] for group in verdict.upgrade["pods"]) == len(expected)
    reported = {pod["pod"]: (pod["before"], pod["after"]) for group in verdict.upgrade["pods"] for pod in group["pods"]}
    assert reported == {pod: expected.get(pod) for pod in reported}


@pytest.mark.parametrize(("cluster", "pods"), [("demo", FEW), ("openb", FEW), WHOLE])
def test_the_record_is_what_the_oracle_says(reference: Reference, cluster: str, pods: int) -> None:
    question = scenario(cluster, CLUSTERS[cluster](pods))
    assert placed(reference, question) == nodes(reference.release.name, cluster, pods)
