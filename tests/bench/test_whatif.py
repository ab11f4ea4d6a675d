"""A run of a recorded cluster beside the plain placing of the same pods: what the virtual clock costs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import load
from kschedweb.engine.simulation import Event, PodArrives, Settings
from kschedweb.engine.whatif.deciding import decide
from kschedweb.engine.whatif.document import read
from kschedweb.engine.whatif.outcome import Outcome
from kschedweb.engine.whatif.prepared import Prepared, prepare
from kschedweb.engine.whatif.run import run
from tests.bench.conftest import timed
from tests.conformance.make_goldens import DEFAULT, PACKING
from tests.conformance.test_whatif_live import DOCUMENT
from tests.support import openb

PODS = 8152
LIMIT = 15_000.0  # milliseconds
MOST_MONTHS = 8.0  # times as long as placing each pod once
MOST_TIMES = 3.0  # as long as without a clock, events and a log


@pytest.mark.parametrize("leave", [False, True], ids=["pods stay", "pods leave"])
def test_months_of_waiting(leave: bool, shared: Path, report: Callable[..., None]) -> None:
    """149 days, in which 1,000 pods wait for room and are tried every five minutes; then a decision of the run."""
    configuration = load(DEFAULT).configuration
    assert configuration is not None
    trace = {"file": "pods", "format": "openb", "leave": leave}
    document = {**DOCUMENT, "arrivals": [{"trace": trace}]}
    prepared = prepare(read(document), [], openb.files(shared), seed=1, now=0.0)
    nodes, parsed = openb.nodes(shared), [Pod.read(raw) for raw in openb.pods(shared, PODS)]
    plain = timed(lambda: Scheduler(Snapshot.from_objects(nodes), configuration).schedule(parsed))
    found: list[Outcome] = []
    whole = timed(lambda: found.append(run(prepared, configuration)))
    outcome = found[0]
    ratio, tries = whole / plain, int(outcome.attempts.sum())
    remark = f"{tries:,} tries; {ratio:.2f} times as long as each pod's placing once ({plain:.0f} ms)"
    report(f"run {outcome.end / 86400:.0f} days, {'pods leave' if leave else 'pods stay'}", [whole], remark=remark)
    assert ratio <= MOST_MONTHS
    late = outcome.pods[int(np.nanargmax(outcome.tries.time))]
    first = timed(lambda: decide(prepared, configuration, late, outcome=outcome))
    report("a decision deep in it", [first], remark=f"{first / whole:.3f} of the run")
    assert first <= whole / 4


@pytest.mark.parametrize(("name", "config"), [("default", DEFAULT), ("packing", PACKING)])
def test_a_recorded_cluster(name: str, config: dict, shared: Path, report: Callable[..., None]) -> None:
    configuration = load(config).configuration
    assert configuration is not None
    nodes, pods = openb.nodes(shared), openb.pods(shared, PODS)
    events: list[Event] = [PodArrives(0.01 * place, raw) for place, raw in enumerate(pods)]
    prepared = Prepared(nodes, events, None, Settings())
    scheduler, parsed = Scheduler(Snapshot.from_objects(nodes), configuration), [Pod.read(raw) for raw in pods]
    placed: dict[str, str] = {}
    plain = timed(lambda: placed.update({one.pod: one.node for one in scheduler.schedule(parsed)}))
    found: list[Outcome] = []
    whole = timed(lambda: found.append(run(prepared, configuration)))
    outcome = found[0]
    nodes_of = zip(outcome.pods, outcome.node.tolist(), strict=True)
    assert placed == {pod: outcome.nodes[node] if node >= 0 else "" for pod, node in nodes_of}
    ratio = whole / plain
    remark = f"{ratio:.2f} times as long as without a clock ({plain:.0f} ms)"
    report(f"run 1,523 nodes, {PODS:,} pods, {name}", [whole], LIMIT, remark)
    assert ratio <= MOST_TIMES
