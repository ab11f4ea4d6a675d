"""Cost of trying a policy change on a cluster, compared with the four runs that it consists of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.clusters.demo import generate_cluster
from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.studies.gate.gate import prepared_of
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.trying.policy_effect import PolicyEffect, play_both
from tests.bench import workloads
from tests.bench.conftest import measure_milliseconds
from tests.engine.studies.gates import PACKED

pytestmark = pytest.mark.nightly

MOST_TIMES = 3.0  # as long as the runs alone: moved pods are explained
AT_ONCE = 3000.0  # milliseconds in which the demo is answered
PLACES = ("pending", "all")


def loaded(document: str | None = None) -> Configuration:
    configuration = load(document).configuration
    assert configuration is not None
    return configuration


def large(nodes: int, pods: int) -> list[Json]:
    """``pods`` pods on ``nodes`` nodes of three zones, and a hundredth of as many that wait."""
    make = workloads.KINDS["zone spread"]
    objects = [workloads.node(number) for number in range(nodes)]
    objects += [workloads.pod(f"pod-{number}", *make(number), node_number=number % nodes) for number in range(pods)]
    return [*objects, *(workloads.pod(f"wait-{number}", *make(number)) for number in range(pods // 100))]


def measured(objects: list[Json], report: Callable[..., None], title: str, limit: float = 0) -> None:
    now, packed = loaded(), loaded(PACKED)
    effects: list[PolicyEffect] = []

    def runs() -> None:
        for place in PLACES:
            prepared = prepared_of(objects, place=place)
            run_scenario(prepared, now)
            run_scenario(prepared, packed)

    def answer() -> None:
        for place in PLACES:
            effects.append(play_both(prepared_of(objects, place=place), now, packed, lambda *_: None))
            effects[-1].counts, effects[-1].nodes(), effects[-1].list_measures(at_end=True)

    alone, whole = measure_milliseconds(runs), measure_milliseconds(answer)
    moved = effects[-1].counts["moved"]
    report(
        title, [whole], limit, f"{moved:,} pods move; {whole / alone:.2f} times as long as the runs ({alone:.0f} ms)"
    )
    assert whole <= MOST_TIMES * alone


def test_the_demo_is_answered_at_once(report: Callable[..., None]) -> None:
    measured(generate_cluster(), report, "a policy change on the demo", AT_ONCE)


def test_a_large_cluster_is_answered_by_a_job(report: Callable[..., None], long: bool) -> None:
    """5,000 nodes and 50,500 pods with --long."""
    nodes, pods = (5_000, 50_000) if long else (500, 5_000)
    measured(large(nodes, pods), report, f"a policy change, {nodes:,} nodes, {pods:,} pods")
