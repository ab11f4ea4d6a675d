"""Faults between the scheduler and its servers, while pods are placed and approved."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.faults import Delay, DropReply, Fault, Hang, Refuse, Sever, Truncate
from tests.support.livesite import APPROVAL_LABELS, LiveSite, live_site
from tests.support.processes import wait_until
from tests.support.tiers import NIGHTLY

COUNT, HELD_COUNT = (300, 20) if NIGHTLY else (100, 20)
AWAY = 60.0 if NIGHTLY else 10.0  # seconds
WRITES, ANYTHING = "POST", ""
nightly = pytest.mark.nightly


@pytest.fixture(scope="module")
def whole(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(assets, tmp_path_factory.mktemp("faults")) as site:
        site.have_workers(1)
        yield site


@pytest.fixture
def site(whole: LiveSite, request: pytest.FixtureRequest) -> Iterator[LiveSite]:
    """A scheduler of the test's own with one worker, on 24 nodes with room for all."""
    whole.begin(f"faults-{abs(hash(request.node.name)) % 10**6}", workers=1, nodes=24)
    yield whole
    whole.end()


def names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number:03d}" for number in range(count)]


def place_all(site: LiveSite, disturb: Callable[[], object] = lambda: None) -> None:
    """Pods, and some that wait for people, half of them approved before ``disturb`` and half after it."""
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    rows = site.waiting(HELD_COUNT)
    creating = threading.Thread(target=site.pods, args=(names("plain", COUNT),))
    creating.start()
    site.approve(rows[: HELD_COUNT // 2])
    disturb()
    creating.join()
    site.approve(rows[HELD_COUNT // 2 :])
    site.wait_bound(COUNT + HELD_COUNT, 90)
    site.check()


@pytest.mark.parametrize(
    ("method", "pattern", "fault", "chance"),
    [
        pytest.param(ANYTHING, "", lambda: Refuse(500), 0.2, id="internal error"),
        pytest.param(ANYTHING, "", lambda: Refuse(429, retry_after=1), 0.2, id="too many requests", marks=nightly),
        pytest.param(WRITES, "/binding$", lambda: Refuse(409), 0.2, id="conflict", marks=nightly),
        pytest.param(ANYTHING, "", DropReply, 0.1, id="reply lost"),
        pytest.param(ANYTHING, "", Sever, 0.1, id="connection broken", marks=nightly),
        pytest.param(WRITES, "", Hang, 0.03, id="hangs", marks=nightly),
        pytest.param(ANYTHING, "", lambda: Truncate(15), 0.1, id="truncated", marks=nightly),
        pytest.param(ANYTHING, "", lambda: Delay(0.5), 0.2, id="slow", marks=nightly),
    ],
)
def test_calls_that_go_wrong(
    site: LiveSite, method: str, pattern: str, fault: Callable[[], Fault], chance: float
) -> None:
    with contextlib.ExitStack() as stack:
        met: list[Fault] = []
        place_all(
            site, lambda: met.append(stack.enter_context(site.proxy.fault(method, pattern, fault(), chance=chance)))
        )
        assert met[0].seen


@pytest.mark.parametrize("how", ["cut", *(pytest.param(how, marks=nightly) for how in ("expired", "silent"))])
def test_watches_that_end_or_fall_silent(site: LiveSite, how: str) -> None:
    ended = threading.Event()

    def harass() -> None:
        while not ended.wait(0.5):
            if how == "cut":
                site.proxy.cut_watches()
            elif how == "expired":
                site.proxy.end_watches(410)

    thread = threading.Thread(target=harass)

    def disturb() -> None:
        if how == "silent":
            site.proxy.freeze()
            threading.Timer(3, site.proxy.thaw).start()
        else:
            thread.start()
            threading.Timer(5, ended.set).start()

    place_all(site, disturb)
    ended.set()


@pytest.mark.parametrize("server", ["apiserver", pytest.param("etcd", marks=nightly)])
def test_api_server_or_its_store_killed_and_started_again(site: LiveSite, server: str) -> None:
    def disturb() -> None:
        wait_until(lambda: len(site.bound()) > 10, "some pods are bound", step=0.05)
        if server == "etcd":
            site.plane.etcd.kill()
            site.plane.etcd.start()
            wait_until(site.plane.ready, "the API server has its store again")
        else:
            site.plane.apiserver.kill()
            site.plane.start_apiserver()

    # Pods are created before: who creates them need not survive this.
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    rows = site.waiting(HELD_COUNT)
    site.pods(names("plain", COUNT))
    site.approve(rows[: HELD_COUNT // 2])
    disturb()
    site.approve(rows[HELD_COUNT // 2 :])
    site.wait_bound(COUNT + HELD_COUNT, 90)
    site.check(server_killed=server == "apiserver")


@pytest.mark.nightly
def test_redis_and_the_database_gone_one_after_the_other(site: LiveSite) -> None:
    """First Redis alone, then both, then the database alone: only approvals have to wait for the database."""
    plain, late = names("plain", COUNT), names("late", HELD_COUNT)
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    rows = site.waiting(HELD_COUNT)
    (worker,), leader = site.workers, site.leader() or {}

    site.redis.kill()
    redis_gone = time.monotonic()
    site.pods(plain[: COUNT // 3])
    site.approve(rows[:10])
    site.wait_bound(COUNT // 3 + 10)

    site.postgres.kill()
    database_gone = time.monotonic()
    site.pods(late, labels=APPROVAL_LABELS)
    place_until(site, redis_gone + AWAY, plain[COUNT // 3 : COUNT * 4 // 5])
    site.redis.start()
    place_until(site, database_gone + AWAY, plain[COUNT * 4 // 5 :])
    assert len(site.bound()) == COUNT + 10

    site.postgres.start()
    site.approve(rows[10:])
    site.approve(site.waiting(len(late)))
    site.wait_bound(COUNT + HELD_COUNT + len(late))
    site.check()
    assert worker.alive
    assert (site.leader() or {})["epoch"] == leader["epoch"], "nobody else had to take over"

    def stored_pods() -> set[str]:
        return {row["name"] for row in site.backstage("decisions", live=site.live) if row["result"] == "bound"}

    wait_until(lambda: stored_pods() == set(site.bound()), "every decision is kept", step=0.3)


def place_until(site: LiveSite, end: float, pods: list[str]) -> None:
    """Pods come ten at a time, spread over the time until ``end``, and each ten are bound before the next come."""
    bound, tens = len(site.bound()), [pods[at : at + 10] for at in range(0, len(pods), 10)]
    interval = (end - time.monotonic()) / len(tens)
    for number, ten in enumerate(tens, start=1):
        due = end - interval * (len(tens) - number)
        site.pods(ten)
        bound += len(ten)
        site.wait_bound(bound)
        while time.monotonic() < due:
            time.sleep(0.1)
