"""A full day of a cluster, simulated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.engine.releases import load
from kschedweb.engine.simulation import PodArrives, Simulation, SimulationSettings
from tests.bench.conftest import timed
from tests.support import workload

pytestmark = pytest.mark.nightly

CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
# Nodes, jobs, pods of services, nodes drained and nodes that fail; the larger with --long.
SIZES = {False: (1000, 20_000, 3_000, 50, 4), True: (5000, 100_000, 15_000, 250, 20)}
LIMIT = 15 * 60 * 1000.0  # milliseconds: a person watches a day go by in less than that


def test_a_day_of_a_large_cluster(long: bool, report: Callable[..., None]) -> None:
    count, jobs, services, drained, failures = SIZES[long]
    configuration = load(CONFIG).configuration
    assert configuration is not None
    events = workload.day(count=count, jobs=jobs, services=services, drained=drained, failures=failures)
    simulation = Simulation(workload.nodes(count), configuration, events, SimulationSettings(cycle=0.002, sample=300.0))
    milliseconds = timed(lambda: simulation.run(workload.DAY))
    result = simulation.result
    arrived = sum(isinstance(event, PodArrives) for event in events)
    replaced = len(result.evicted)
    assert len(result.bound) + len(result.pending) == arrived + replaced
    requested, allocatable = (simulation.world.snapshot.requested, simulation.world.snapshot.allocatable)
    assert (requested <= allocatable).all()
    remark = (
        f"{workload.DAY / milliseconds * 1000:.0f} simulated seconds a second; {len(result.bound):,} pods bound, "
        f"{len(result.rejected):,} tries in vain, {replaced:,} evictions; cpu at most "
        f"{100 * max(sample.use['cpu'] for sample in result.samples):.0f} % requested"
    )
    report(f"simulate a day, {count:,} nodes, {arrived:,} pods", [milliseconds], LIMIT, remark)
