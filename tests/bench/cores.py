"""Speed of parallel processes on this machine: its cores may share units, caches and time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.releases import load
from tests.bench import workloads
from tests.bench.conftest import timed

PIECES = 24


def gains(counts: Sequence[int]) -> dict[int, float]:
    """Return the speed-up of so many processes over one, which place the same pods, with nothing between them."""
    took = {count: _took(count) for count in (1, *counts)}
    return {count: took[1] / took[count] for count in counts}


def _took(count: int) -> float:
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_piece, range(4 * count)))  # what a process does once, such as imports
        return timed(lambda: list(pool.map(_piece, range(PIECES))))


def _piece(number: int) -> int:
    whole = workloads.scenario("mixed", nodes=200, bound=200, pending=100)
    configuration = load(whole["config"]).configuration
    assert configuration is not None
    scheduler = Scheduler(Snapshot.from_objects(whole["objects"]), configuration)
    return sum(
        bool(placement.node) for placement in scheduler.schedule_pods([Pod.from_json(pod) for pod in whole["pending"]])
    )
