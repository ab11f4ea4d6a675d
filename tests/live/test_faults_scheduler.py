"""Schedulers killed, paused and set against each other while they place pods; the API server's history is the judge.

Real etcd, API server, PostgreSQL, Redis and Celery workers. The lease lasts 6 s instead of 15 s, which only makes the
tests shorter: every time in the election is in proportion to it.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kschedweb.live.schedulers.writing.carrier import LANES
from tests.support.faults import Hold, HoldReply
from tests.support.livesite import APPROVAL_LABELS, LiveSite, live_site
from tests.support.needs import missing
from tests.support.processes import Server, wait_until
from tests.support.tiers import NIGHTLY

COUNT, HELD_COUNT = (300, 24) if NIGHTLY else (100, 24)
DELAYED = 8  # bindings on their way when the leader is paused
BINDING = r"/binding$"


@pytest.fixture(scope="module")
def whole(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    with live_site(assets, tmp_path_factory.mktemp("faults")) as site:
        site.have_workers(2)
        yield site


@pytest.fixture
def site(whole: LiveSite, request: pytest.FixtureRequest) -> Iterator[LiveSite]:
    """A scheduler of the test's own with two workers, on 24 nodes with room for all."""
    whole.begin(f"faults-{abs(hash(request.node.name)) % 10**6}", workers=2, nodes=24)
    yield whole
    whole.end()


def names(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number:03d}" for number in range(count)]


def kill(site: LiveSite, worker: Server) -> None:
    worker.kill()
    site.replace_worker(worker)


def test_killed_at_each_step_of_reserve_permit_and_bind(site: LiveSite) -> None:
    # Reserved, the request for approval is being stored.
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    site.waiting(1)
    kill(site, site.leading_worker())
    nodes_by_pod = {row["pod"]: row["node"] for row in site.waiting(HELD_COUNT)}

    # Permitted, while nobody leads, and while the binding is on its way.
    rows = site.waiting(HELD_COUNT)
    with site.proxy.fault("POST", BINDING, Hold()) as hold:
        leader = site.leading_worker()
        site.approve(rows[: HELD_COUNT // 2])
        hold.wait()
        kill(site, leader)
        site.approve(rows[HELD_COUNT // 2 :])
    site.wait_bound(HELD_COUNT)
    assert {f"default/{name}": node for name, node in site.bound().items()} == nodes_by_pod

    # Bound, and the answer has not arrived; then in the middle of it all.
    with site.proxy.fault("POST", BINDING, HoldReply()) as unanswered:
        site.pods(names("plain", COUNT))
        unanswered.wait(4)
        kill(site, site.leading_worker())
    site.wait_bound(HELD_COUNT + 20)
    kill(site, site.leading_worker())
    site.wait_bound(HELD_COUNT + COUNT)
    site.leading_worker()  # all may be bound before anybody has followed
    history = site.check()
    assert len({write.holder for write in history.leases if site.name in write.lease}) >= 5


@pytest.mark.nightly
def test_leader_paused_beyond_its_term_binds_nothing_when_it_wakes(site: LiveSite) -> None:
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    rows = site.waiting(HELD_COUNT)
    old = site.leading_worker()
    epoch = (site.leader() or {})["epoch"]
    with site.proxy.fault("POST", BINDING, Hold(), times=DELAYED) as late:
        site.pods(names("plain", COUNT))
        late.wait(4)
        old.signal(signal.SIGSTOP)
        site.approve(rows)
        wait_until(lambda: (site.leader() or {"epoch": epoch})["epoch"] > epoch, "the other one leads", step=0.2)
        site.wait_bound(HELD_COUNT + COUNT - 20)
        woken = time.time()
        old.signal(signal.SIGCONT)
    site.wait_bound(HELD_COUNT + COUNT)
    history = site.check()
    paused = [bind for bind in history.binds if f"_{old.pid}_" in bind.identity]
    # What it had sent before it was paused arrived late, and was refused or made. Between asking who leads and
    # sending, a thread can be paused as well: what each of them had in hand then goes out at the wake, and no more.
    audit_ids = {call.audit_id for call in late.seen}
    taken_over = min(write.completed for write in history.leases if site.name in write.lease and write.epoch > epoch)
    late_binds = [bind for bind in paused if bind.received > taken_over]
    assert late_binds
    in_hand = [bind for bind in late_binds if bind.audit_id not in audit_ids]
    assert len(in_hand) <= LANES - DELAYED
    assert all(bind.received < woken + 2 for bind in in_hand)


@pytest.mark.nightly
def test_lock_is_changed_step_by_step_while_the_leader_sleeps_and_pods_come(site: LiveSite) -> None:
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    rows = site.waiting(HELD_COUNT)
    old, epoch = site.leading_worker(), (site.leader() or {})["epoch"]
    site.pods(names("plain", COUNT))
    old.signal(signal.SIGSTOP)
    assert site.change(lock="endpoints") != ""
    assert site.change(lock="endpointsleases") == ""
    wait_until(lambda: (site.leader() or {"epoch": epoch})["epoch"] > epoch, "the other one leads", step=0.2)
    # Who sleeps may still lead by the Lease when it wakes; the pair keeps it out, and Endpoints alone would not.
    assert "Wait until it has followed" in site.change(lock="endpoints")
    old.signal(signal.SIGCONT)
    site.approve(rows[: HELD_COUNT // 2])
    wait_until(lambda: site.change(lock="endpoints") == "", "it has followed", step=0.2)
    site.approve(rows[HELD_COUNT // 2 :])
    site.wait_bound(HELD_COUNT + COUNT)
    history = site.check()
    place = f"namespaces/kube-system/endpoints/kschedweb-{site.name}"
    wait_until(lambda: site.plane.request("GET", f"/api/v1/{place}").status == 200, "Endpoints hold the record")
    terms = {write.epoch: write.holder for write in history.leases if site.name in write.lease and write.holder}
    assert len(terms) >= 3


@pytest.mark.nightly
def test_clock_stepped_back_and_forth_by_an_hour_changes_nothing(site: LiveSite, tmp_path: Path) -> None:
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        missing("install faketime")
    step = tmp_path / "step"
    step.write_text("+3600\n")
    for worker in list(site.workers):
        worker.kill()
        site.workers.remove(worker)
    # As when somebody sets the clock: only what reads the time of day sees it.
    worker = site.start_worker(
        LD_PRELOAD=str(libraries[-1]),
        FAKETIME_TIMESTAMP_FILE=str(step),
        FAKETIME_CACHE_DURATION="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
    )
    assert site.leading_worker() is worker
    epoch = site.candidates()[0]["epoch"]
    site.pods(names("held", HELD_COUNT), labels=APPROVAL_LABELS)
    rows = site.waiting(HELD_COUNT)
    assert all(row["asked"] - time.time() > 3000 for row in rows), "its clock is an hour ahead"
    site.pods(names("ahead", COUNT // 3))
    step.write_text("+0\n")
    site.approve(rows)
    site.pods(names("back", COUNT // 3))
    site.wait_bound(HELD_COUNT + 2 * (COUNT // 3))
    step.write_text("+3600\n")
    site.pods(names("forth", COUNT // 3))
    site.wait_bound(HELD_COUNT + COUNT)
    history = site.check()
    mine = [write for write in history.leases if f"_{worker.pid}_" in write.holder]
    assert {write.epoch for write in mine} == {epoch}
