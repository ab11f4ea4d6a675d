"""Process that hosts live schedulers: its reaction when their rows change, and when one cannot run."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.clusters.connecting.credentials import CredentialError, credential_open
from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Lock, Mode
from kschedweb.live.schedulers.running import host, runs
from kschedweb.live.schedulers.running.host import Host
from kschedweb.live.schedulers.status import status_of
from kschedweb.policies.services import policy_create

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


ELSEWHERE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {resourceName: elsewhere}
"""


class Quiet:
    """A run that does nothing; it stands for one of a mode that another app brings."""

    def __init__(self, row: LiveScheduler, identity: str) -> None:
        self.row, self.problem, self.ticked = row, "", time.monotonic()
        self.commands: list[tuple[bool, int]] = []
        self.epoch = 0
        self.alive, self.leading, self.begun, self.ended, self.handed_over, self.compared = True, True, 0, 0, 0, 0

    def start(self) -> None:
        self.begun += 1

    def stop(self) -> None:
        self.ended += 1

    def command(self, paused: bool, steps: int) -> None:
        self.commands.append((paused, steps))

    def update_watermarks(self, watermarks: Any) -> None: ...

    def compare(self) -> None:
        self.compared += 1

    def hand_over(self) -> None:
        self.handed_over += 1

    def report(self) -> dict[str, Any]:
        status = {"leading": self.leading, "epoch": self.epoch, "depths": {"active": 2}}
        return {**status, "error": self.problem, "error_at": 0.0}


@pytest.fixture
def quiet_runs(monkeypatch: pytest.MonkeyPatch) -> list[Quiet]:
    runs: list[Quiet] = []

    def make(row: LiveScheduler, identity: str) -> Quiet:
        runs.append(Quiet(row, identity))
        return runs[-1]

    monkeypatch.setattr(host, "make_run", make)
    monkeypatch.setattr(host, "BEAT_EVERY", 0.0)
    return runs


@pytest.fixture
def on(live: LiveScheduler, admin: User) -> LiveScheduler:
    return services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)


def test_a_run_begins_and_ends_with_the_mode_of_its_row(
    on: LiveScheduler, admin: User, quiet_runs: list[Quiet]
) -> None:
    hosting = Host()
    hosting._tick()
    hosting._tick()
    assert [run.begun for run in quiet_runs] == [1]
    row = Candidate.objects.get()
    assert (row.identity, row.leading, row.depths) == (hosting.identity_of(on), True, {"active": 2})
    services.live_set_mode(user=admin, live=on, mode=Mode.OFF)
    hosting._tick()
    assert quiet_runs[0].ended == 1
    assert not Candidate.objects.exists()


def test_other_settings_need_another_run_and_a_pause_does_not(
    on: LiveScheduler, admin: User, quiet_runs: list[Quiet]
) -> None:
    hosting = Host()
    hosting._tick()
    services.live_pause(user=admin, live=on)
    services.live_step(user=admin, live=on, pods=3)
    hosting._tick()
    hosting._tick()
    assert quiet_runs[0].commands == [(False, 0), (True, 3), (True, 0)]
    services.live_change(user=admin, live=on, qps=20)
    hosting._tick()
    assert [(run.begun, run.ended) for run in quiet_runs] == [(1, 1), (1, 0)]
    services.live_reload(user=admin, live=on)
    hosting._tick()
    assert len(quiet_runs) == 3


def test_another_lock_is_given_back_before_the_next_is_tried(
    on: LiveScheduler, admin: User, quiet_runs: list[Quiet], monkeypatch: pytest.MonkeyPatch
) -> None:
    hosting = Host()
    hosting._tick()
    assert Candidate.objects.get().election == "leases kube-system/kschedweb-kschedweb"
    services.live_change(user=admin, live=on, lock=Lock.CONFIGMAPSLEASES)
    order: list[int] = []
    monkeypatch.setattr(quiet_runs[0], "stop", lambda: order.append(len(quiet_runs)))
    hosting._tick()
    assert (order, len(quiet_runs), quiet_runs[1].row.lock) == ([1], 2, Lock.CONFIGMAPSLEASES)
    assert Candidate.objects.get().election == "configmapsleases kube-system/kschedweb-kschedweb"


def test_a_lock_that_was_rolled_out_is_taken_when_the_last_process_has_given_the_old_one_back(
    on: LiveScheduler, admin: User, quiet_runs: list[Quiet]
) -> None:
    first, second = Host(), Host()
    first._tick()
    second._tick()
    policy = policy_create(name="elsewhere", document=ELSEWHERE, author=admin)
    revision = policy.revisions.select_related("policy").get()
    assert on.revision is not None
    services.live_roll_out(user=admin, live=on, revision=revision, expected=on.revision)
    first._tick()
    assert [(run.begun, run.ended) for run in quiet_runs] == [(1, 1), (1, 0)]  # nobody begins while the other may lead
    waiting = Candidate.objects.get(identity=first.identity_of(on))
    assert f"{second.identity_of(on)} takes part by leases kube-system/kschedweb-kschedweb" in waiting.error
    Candidate.objects.update(leading=False)
    assert "leases kube-system/elsewhere is taken once" in status_of(LiveScheduler.objects.get()).advice
    second._tick()
    assert [(run.begun, run.ended) for run in quiet_runs] == [(1, 1), (1, 1), (1, 0)]
    first._tick()
    assert len(quiet_runs) == 4
    assert {row.election for row in Candidate.objects.all()} == {"leases kube-system/elsewhere"}


def test_live_schedulers_of_one_process_are_candidates_beside_each_other(
    on: LiveScheduler, admin: User, quiet_runs: list[Quiet]
) -> None:
    services.live_create(user=admin, cluster=on.cluster, scheduler_name="other", policy=on.policy, mode=Mode.SCHEDULING)
    hosting = Host()
    hosting._tick()
    hosting._tick()
    assert len(quiet_runs) == 2
    assert len({row.identity for row in Candidate.objects.all()}) == 2


def test_what_was_changed_since_it_was_read_does_not_begin(
    on: LiveScheduler, admin: User, quiet_runs: list[Quiet], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = list(host.selectors.list_running())
    services.live_change(user=admin, live=on, lock=Lock.ENDPOINTS)
    monkeypatch.setattr(host.selectors, "list_running", lambda: before)
    hosting = Host()
    hosting._tick()
    assert not quiet_runs
    monkeypatch.undo()


def test_the_highest_epoch_is_kept_with_the_scheduler(on: LiveScheduler, quiet_runs: list[Quiet]) -> None:
    hosting = Host()
    hosting._tick()
    for epoch, highest in ((3, 3), (7, 7), (5, 7)):
        quiet_runs[0].epoch = epoch
        hosting._tick()
        on.refresh_from_db()
        assert on.epoch == highest


def test_steps_are_left_to_who_leads(on: LiveScheduler, admin: User, quiet_runs: list[Quiet]) -> None:
    hosting = Host()
    hosting._tick()
    quiet_runs[0].leading = False
    services.live_pause(user=admin, live=on)
    services.live_step(user=admin, live=on)
    hosting._tick()
    on.refresh_from_db()
    assert on.steps == 1
    assert quiet_runs[0].commands[-1] == (True, 0)


def test_a_run_that_ended_by_itself_begins_again_after_a_rest_and_says_why(
    on: LiveScheduler, quiet_runs: list[Quiet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "FIRST_REST", 0.05)
    hosting = Host()
    hosting._tick()
    quiet_runs[0].alive, quiet_runs[0].problem = False, "The scheduling loop failed and starts over: KeyError."
    hosting._tick()
    assert (len(quiet_runs), quiet_runs[0].ended) == (1, 1)
    assert Candidate.objects.get().error == quiet_runs[0].problem
    time.sleep(0.06)
    hosting._tick()
    assert len(quiet_runs) == 2


def test_a_loop_that_hangs_hands_its_lease_over_and_at_last_takes_the_process_with_it(
    on: LiveScheduler, quiet_runs: list[Quiet]
) -> None:
    exits: list[bool] = []
    hosting = Host(fatal=lambda: exits.append(True))
    hosting._tick()
    quiet_runs[0].ticked -= host.HANGS + 1
    hosting._tick()
    assert (quiet_runs[0].handed_over, exits) == (1, [])
    quiet_runs[0].ticked -= host.GIVES_UP
    hosting._tick()
    assert exits == [True]


def test_sigusr2_has_every_run_compare_what_it_knows_with_a_fresh_list(
    on: LiveScheduler, quiet_runs: list[Quiet]
) -> None:
    hosting = Host()
    before = signal.getsignal(signal.SIGUSR2)
    try:
        hosting.listen_for_signal()
        hosting._tick()
        os.kill(os.getpid(), signal.SIGUSR2)
        hosting._tick()
        hosting._tick()
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert quiet_runs[0].compared == 1


def test_one_of_two_processes_runs_what_has_no_lease(live: LiveScheduler, admin: User, quiet_runs: list[Quiet]) -> None:
    services.live_set_mode(user=admin, live=live, mode=Mode.SHADOW)
    first, second = Host(), Host()
    first._tick()
    second._tick()
    assert len(quiet_runs) == 1
    LiveScheduler.objects.update(held_until=None)
    second._tick()
    first._tick()
    assert [(run.begun, run.ended) for run in quiet_runs] == [(1, 1), (1, 0)]


def test_a_cluster_that_cannot_be_opened_is_said_on_the_candidates_row(on: LiveScheduler) -> None:
    assert runs.make_run is host.make_run
    hosting = Host()
    hosting._tick()
    with pytest.raises(CredentialError) as refused:
        credential_open(on.cluster)
    assert refused.value.detail in Candidate.objects.get().error
