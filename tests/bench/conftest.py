"""Timing that prints what it found and holds the limits; `make bench` runs it, with nothing else beside it."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from tests.support.backstage import Backstage
from tests.support.databases import databases
from tests.support.livesite import Deployment
from tests.support.people import Person, Web

PACE = 38.0  # milliseconds that ``_reference`` takes where the limits were set
# Tests that run beside a benchmark in CI take caches and halves of cores from it, which ``_reference`` hardly feels.
SHARED_MACHINE = 2.0 if os.environ.get("CI") else 1.0
ROWS: list[tuple[str, float, float, str]] = []  # what, milliseconds, limit (0: none), remark
STARTS: list[tuple[str, float, float, float]] = []  # what, processor seconds here and there, times as many at most
RATIOS: list[tuple[str, float, float, float]] = []  # what, pods per second here and there, times as fast at least


def timed(do: Callable[[], object]) -> float:
    """Milliseconds that ``do`` takes."""
    begun = time.perf_counter()
    do()
    return (time.perf_counter() - begun) * 1000


def measure_milliseconds(do: Callable[[], object]) -> float:
    """Milliseconds of this process's time on a core that ``do`` takes, whatever else the machine does beside it."""
    begun = time.process_time()
    do()
    return (time.process_time() - begun) * 1000


@cache
def slowness() -> float:
    """Return the factor by which this machine is slower than the one of the limits, 1 at least."""
    return measured_slowness()


def measured_slowness() -> float:
    """The slowness as it is now."""
    return max(1.0, min(measure_milliseconds(_reference) for _ in range(9)) / PACE)


@pytest.fixture(autouse=True)
def unburdened() -> None:
    """Keep the garbage collector from walking objects of earlier benchmarks during a measurement."""
    gc.collect()
    gc.freeze()


def _reference() -> None:
    names = {f"node-{number}": number for number in range(100_000)}
    np.sort(np.fromiter(names.values(), dtype=np.float64) * 7919 % 100_003)


@pytest.fixture
def report() -> Callable[..., None]:
    """``report("what", milliseconds, limit, remark)``: median of the milliseconds into the table, held to the limit.

    A machine that is slower than the limits were set for has as much more time; so has one that became it since.
    """
    slower = slowness()

    def add(label: str, milliseconds: list[float], limit: float = 0, remark: str = "") -> None:
        median = statistics.median(milliseconds)
        limit *= SHARED_MACHINE
        limit *= slower if median <= limit * slower else max(slower, measured_slowness())
        ROWS.append((label, median, limit, remark))
        assert not limit or median <= limit, f"{label}: {median:.0f} ms, limit {limit:.0f} ms ({milliseconds})"

    return add


@pytest.fixture
def compare() -> Callable[..., None]:
    """``compare("what", ours, theirs, limit)``: two summaries into the table, how many times as fast held to it."""

    def add(label: str, ours: dict[str, float], theirs: dict[str, float], limit: float = 0) -> None:
        ours_rate, theirs_rate = ours["PodsPerSecond"], theirs["PodsPerSecond"]
        assert (ours["Pods"], ours["Scheduled"]) == (theirs["Pods"], theirs["Scheduled"])
        RATIOS.append((label, ours_rate, theirs_rate, limit))
        assert ours_rate >= limit * theirs_rate, (
            f"{label}: {ours_rate / theirs_rate:.1f} times as fast, at least {limit:.0f} are wanted"
        )

    return add


@pytest.fixture
def compare_seconds() -> Callable[[str, float, float, float], None]:
    """Put two amounts of processor seconds into the table, and hold their ratio to ``limit``."""

    def add(label: str, our_seconds: float, their_seconds: float, limit: float) -> None:
        STARTS.append((label, our_seconds, their_seconds, limit))
        assert our_seconds <= limit * their_seconds, (
            f"{label}: {our_seconds / their_seconds:.2f} times as long, at most {limit:.2f} are wanted"
        )

    return add


@dataclass(frozen=True)
class Wire:
    """A web process on PostgreSQL and Redis, and what fills its database."""

    deployment: Deployment
    web: Web
    backstage: Backstage

    def person(self, role: str) -> Person:
        return self.web.people(self.backstage, role, 1)[0]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """A site whose web process runs as in docker-compose.yml, to be asked over kept-alive connections."""
    with databases() as (postgres, broker), ExitStack() as ending:
        deployment = Deployment(tmp_path_factory.mktemp("wire"), postgres.url, broker.url)
        backstage, web = deployment.backstage(), Web(deployment, "wire")
        ending.callback(backstage.close)
        ending.callback(web.server.stop)
        web.start()
        yield Wire(deployment, web, backstage)


@pytest.fixture(scope="session", autouse=True)
def table() -> Iterator[None]:
    yield
    if RATIOS:
        print(f"\n\n{'pods per second':<42}{'engine':>10}{'kube-scheduler':>16}{'times':>9}{'at least':>10}")
    for label, ours, theirs, limit in RATIOS:
        print(f"{label:<42}{ours:>10,.0f}{theirs:>16,.0f}{ours / theirs:>9.1f}{f'{limit:.0f}' if limit else '':>10}")
    if STARTS:
        print(f"\n\n{'processor seconds':<48}{'here':>8}{'kube-scheduler':>16}{'times':>9}{'at most':>10}")
    for label, ours, theirs, limit in STARTS:
        print(f"{label:<48}{ours:>8.2f}{theirs:>16.2f}{ours / theirs:>9.2f}{limit:>10.2f}")
    if not ROWS:
        return
    lines = [
        f"{label:<58}{median:>10.1f} ms{f'{limit:>8.0f} ms' if limit else '':>11}   {remark}"
        for label, median, limit, remark in ROWS
    ]
    print("\n\n" + f"{'median':>71}{'limit':>11}\n" + "\n".join(lines))
