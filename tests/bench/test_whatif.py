"""A run of a recorded cluster beside the plain placing of the same pods: what the virtual clock costs.

Times are of this process on a core, and what a run is held against is done before it and after it: a machine that does
other things, or is not warm yet, changes both alike.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import PodArrives, SimulationEvent, SimulationSettings
from kschedweb.engine.studies.document.document import read_scenario
from kschedweb.engine.studies.play.explained_tries import explain_try
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.rewind import Rewinds, can_rewind
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario, prepare_scenario
from tests.bench.conftest import measure_milliseconds
from tests.conformance.record import DEFAULT, PACKING
from tests.conformance.test_whatif_live import DOCUMENT
from tests.support import openb

pytestmark = pytest.mark.nightly

PODS = 8152
MOST_MONTHS = 8.0  # times as long as placing each pod once
MOST_TIMES = 3.0  # as long as without a clock, events and a log
FURTHER = 12  # decisions after the first


class Placing:
    """The pods placed one after the other, without a clock, events and a log."""

    def __init__(self, nodes: list[Json], pods: list[Json], configuration: Configuration) -> None:
        self._nodes, self._configuration = nodes, configuration
        self._pods = [Pod.from_json(raw) for raw in pods]
        self.placed: dict[str, str] = {}

    def __call__(self) -> None:
        scheduler = Scheduler(Snapshot.from_objects(self._nodes), self._configuration)
        self.placed = {placement.pod: placement.node for placement in scheduler.schedule_pods(self._pods)}


def run_beside_placing(
    placing: Placing, prepared: PreparedScenario, configuration: Configuration
) -> tuple[RunOutcome, float, float]:
    """Return the result of the run, and the milliseconds of plain placing and of the run."""
    outcomes: list[RunOutcome] = []
    before = measure_milliseconds(placing)
    whole = measure_milliseconds(lambda: outcomes.append(run_scenario(prepared, configuration)))
    return outcomes[0], (before + measure_milliseconds(placing)) / 2, whole


def test_months_of_waiting(report: Callable[..., None], long: bool) -> None:
    """149 days, in which 1,000 pods wait for room and are tried every five minutes; then decisions of the run.

    With --long also where pods leave, so that few wait.
    """
    for leave in (False, True) if long else (False,):
        months(leave, report)


def months(leave: bool, report: Callable[..., None]) -> None:
    configuration = load(DEFAULT).configuration
    assert configuration is not None
    trace = {"file": "pods", "format": "openb", "leave": leave}
    document = {**DOCUMENT, "arrivals": [{"trace": trace}]}
    prepared = prepare_scenario(read_scenario(document), [], openb.files(), seed=1, now=0.0)
    placing = Placing(openb.nodes(), openb.pods(PODS), configuration)
    outcome, plain, whole = run_beside_placing(placing, prepared, configuration)
    ratio, tries = whole / plain, int(outcome.attempts.sum())
    remark = f"{tries:,} tries; {ratio:.2f} times as long as each pod's placing once ({plain:.0f} ms)"
    report(f"run {outcome.end / 86400:.0f} days, {'pods leave' if leave else 'pods stay'}", [whole], remark=remark)
    assert ratio <= MOST_MONTHS
    late, rewinds = int(np.nanargmax(outcome.tries.time)), Rewinds(prepared, configuration, outcome)

    def decision(row: int) -> float:
        return measure_milliseconds(
            lambda: explain_try(prepared, configuration, outcome.pods[row], outcome=outcome, rewinds=rewinds)
        )

    first = decision(late)
    report("a decision deep in it", [first], remark=f"{first / whole:.3f} of the run")
    rewindable = [row for row in range(len(outcome.pods)) if row != late and can_rewind(outcome, row)]
    further = [decision(row) for row in np.random.default_rng(1).choice(rewindable, FURTHER).tolist()]
    remark = f"median of {FURTHER}; {np.median(further) / first:.3f} of the first"
    report("a further decision of the same run", further, remark=remark)
    assert first <= whole / 4
    assert np.median(further) <= first / 2


def test_a_recorded_cluster(report: Callable[..., None], long: bool) -> None:
    """Under the default policy, with --long also under one that packs."""
    for name, config in (("default", DEFAULT), ("packing", PACKING))[: 2 if long else 1]:
        recorded(name, config, report)


def recorded(name: str, config: dict, report: Callable[..., None]) -> None:
    configuration = load(config).configuration
    assert configuration is not None
    nodes, pods = openb.nodes(), openb.pods(PODS)
    events: list[SimulationEvent] = [PodArrives(0.01 * place, raw) for place, raw in enumerate(pods)]
    prepared = PreparedScenario(nodes, events, None, SimulationSettings())
    placing = Placing(nodes, pods, configuration)
    outcome, plain, whole = run_beside_placing(placing, prepared, configuration)
    nodes_of = zip(outcome.pods, outcome.node.tolist(), strict=True)
    assert placing.placed == {pod: outcome.nodes[node] if node >= 0 else "" for pod, node in nodes_of}
    ratio = whole / plain
    remark = f"{ratio:.2f} times as long as without a clock ({plain:.0f} ms)"
    report(f"run 1,523 nodes, {PODS:,} pods, {name}", [whole], remark=remark)
    assert ratio <= MOST_TIMES
