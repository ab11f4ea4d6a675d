"""Trials are shared by claims: each is done once, whoever does it, whatever dies on the way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kschedweb.accounts.models import User
from kschedweb.engine.releases import CURRENT
from kschedweb.jobs import services as jobs
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.processes import ProcessLost
from kschedweb.playground.sweeps import selectors, services, tasks, worker
from kschedweb.playground.sweeps.models import Method, Origin, Sweep, Trial, TrialState
from kschedweb.web.errors import Unprocessable
from tests.support import seed_runs, seed_sweeps

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sent_messages(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The messages that would go to the broker: these tests hand them over themselves."""
    messages: list[tuple[Any, ...]] = []
    monkeypatch.setattr(worker.app, "send_task", lambda *args, **options: messages.append((*args, options)))
    return messages


def begin_sweep(user: User, **changes: Any) -> Sweep:
    """A sweep whose job runs and whose first message is out."""
    sweep = seed_sweeps.started(user, **changes)
    assert sweep.job is not None
    tasks.run(str(sweep.job.pk))
    return Sweep.objects.select_related("job", "revision__scenario").get(pk=sweep.pk)


def job_of(sweep: Sweep) -> Job:
    """As it is now."""
    return Job.objects.get(pk=str(sweep.job_id))


def job_state(sweep: Sweep) -> str:
    return job_of(sweep).state


def test_every_point_of_a_grid_is_played_once_and_the_job_ends(editor: User) -> None:
    sweep = seed_sweeps.sweep(editor)
    assert sweep.job is not None
    assert (sweep.job.state, sweep.job.done) == (JobState.SUCCEEDED, 8)
    trials = list(sweep.trials.all())
    assert [trial.state for trial in trials] == [TrialState.FINISHED] * 8
    assert {tuple(trial.point) for trial in trials} == set(selectors.load_space(sweep).iterate_grid())
    assert [trial.origin for trial in trials[:2]] == [Origin.BASE, Origin.ALONE]
    assert {trial.attempt for trial in trials} == {1}
    packing_trials = [trial for trial in trials if trial.point == [3, "MostAllocated"]]
    assert packing_trials[0].values["nodes_empty"][0] > trials[0].values["nodes_empty"][0]
    assert packing_trials[0].values["moved"][0] > 0
    assert trials[0].values["moved"] == [0.0]
    assert sweep.engine == CURRENT.engine


def test_the_same_sweep_finds_the_same_values(editor: User) -> None:
    revision = seed_runs.scenario(editor, pods=10)
    outcomes = [
        list(seed_sweeps.sweep(editor, revision).trials.values_list("number", "point", "values")) for _ in range(2)
    ]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("method", [Method.TPE, Method.NSGA2])
def test_a_search_has_as_many_trials_as_asked_for_and_none_twice(editor: User, method: str) -> None:
    space = [{"path": seed_sweeps.FIT, "from": 0, "to": 30}, {"path": seed_sweeps.BALANCED, "from": 1, "to": 30}]
    sweep = seed_sweeps.sweep(editor, space=space, method=method, trials=30)
    points = [tuple(trial) for trial in sweep.trials.values_list("point", flat=True)]
    assert len(set(points)) == len(points) == sweep.planned == 30
    assert sweep.trials.filter(origin=Origin.ALONE).count() == 9
    assert set(sweep.trials.values_list("state", flat=True)) == {TrialState.FINISHED}


def test_a_search_of_a_small_space_ends_when_everything_was_tried(editor: User) -> None:
    sweep = seed_sweeps.sweep(editor, method=Method.TPE, trials=50)
    assert sweep.job is not None
    assert sweep.job.state == JobState.SUCCEEDED
    assert sweep.trials.count() == sweep.planned == 8


def test_two_workers_never_claim_the_same_trial(editor: User) -> None:
    sweep = begin_sweep(editor)
    claims = [worker.trial_claim(sweep, f"worker-{number % 2}") for number in range(9)]
    numbers = [claim.number for claim in claims if claim is not None]
    assert claims[8] is None
    assert sorted(numbers) == list(range(8))
    assert numbers[0] == 0


def test_a_lapsed_claim_is_given_out_again_and_the_late_worker_changes_nothing(editor: User) -> None:
    sweep = begin_sweep(editor)
    assert sweep.job is not None
    late = worker.trial_claim(sweep, "late")
    assert late is not None
    Trial.objects.filter(pk=late.pk).update(claimed_until=timezone.now() - timedelta(seconds=1))
    second_claim = worker.trial_claim(sweep, "next")
    assert second_claim is not None
    assert (second_claim.number, second_claim.attempt, second_claim.worker) == (late.number, 2, "next")
    worker.renew_claim(late, sweep.job)
    assert worker._do_trial(sweep, late, sweep.job)
    stored_trial = Trial.objects.get(pk=late.pk)
    assert (stored_trial.state, stored_trial.values, stored_trial.worker) == (TrialState.RUNNING, {}, "next")


def test_a_trial_that_ends_three_workers_is_given_up_and_the_others_go_on(editor: User) -> None:
    sweep = begin_sweep(editor)
    Trial.objects.filter(sweep=sweep, number=3).update(
        state=TrialState.RUNNING, attempt=worker.MAX_ATTEMPTS, claimed_until=timezone.now() - timedelta(seconds=1)
    )
    seed_sweeps.work_off()
    lost_trial = Trial.objects.get(sweep=sweep, number=3)
    assert (lost_trial.state, lost_trial.error) == (TrialState.FAILED, worker.STOPPED)
    assert Trial.objects.filter(sweep=sweep, state=TrialState.FINISHED).count() == 7
    assert job_state(sweep) == JobState.SUCCEEDED


def test_one_message_is_out_and_an_old_one_does_nothing(editor: User, sent_messages: list[tuple[Any, ...]]) -> None:
    sweep = begin_sweep(editor)
    assert [(name, args) for name, args, _ in sent_messages if name == worker.TASK] == [
        (worker.TASK, [str(sweep.pk), 1])
    ]
    assert worker.turn_take(str(sweep.pk), 1) is not None
    assert worker.turn_take(str(sweep.pk), 1) is None
    assert tasks.turn.run(str(sweep.pk), 1) == 0
    assert Trial.objects.filter(sweep=sweep, state=TrialState.FINISHED).count() == 0


def test_a_worker_puts_the_message_back_before_it_begins(
    editor: User, sent_messages: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = begin_sweep(editor)
    out: list[int] = []

    def do(*_: Any) -> bool:
        out.append(len(sent_messages))
        return False

    monkeypatch.setattr(worker, "_do_trial", do)
    worker.turn_do(sweep, "one")
    assert out == [len(sent_messages)]
    assert sent_messages[-1][0] == worker.TASK


def test_who_does_the_last_trial_ends_the_sweep_though_the_turn_is_over(
    editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = begin_sweep(editor)
    monkeypatch.setattr(worker, "TURN", 0.0)
    for number in range(8):
        assert job_state(sweep) == JobState.RUNNING, number
        assert worker.turn_do(sweep, "one") == 1
    assert job_state(sweep) == JobState.SUCCEEDED


def test_who_finds_nothing_to_claim_looks_again_when_a_claim_can_have_lapsed(
    editor: User, sent_messages: list[tuple[Any, ...]]
) -> None:
    sweep = begin_sweep(editor)
    while worker.trial_claim(sweep, "busy") is not None:
        pass
    assert worker.turn_do(sweep, "idle") == 0
    name, _, options = sent_messages[-1]
    assert name == worker.TASK
    assert 1.0 < options["countdown"] <= worker.CLAIM.total_seconds() + 1.0
    assert job_state(sweep) == JobState.RUNNING


def test_a_cancelled_sweep_keeps_what_is_done_and_gives_back_what_runs(
    editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = begin_sweep(editor)
    assert sweep.job is not None
    first = worker.trial_claim(sweep, "one")
    assert first is not None
    assert worker._do_trial(sweep, first, sweep.job)
    second = worker.trial_claim(sweep, "one")
    assert second is not None
    services.sweep_cancel(user=editor, sweep=sweep)

    def play(sweep: Sweep, trial: Trial, progress: Any) -> dict[str, Any]:
        progress(1.0, 1, 2)
        raise AssertionError("a cancelled sweep plays on")

    with monkeypatch.context() as patch:
        patch.setattr(worker, "_play_trial", play)
        assert not worker._do_trial(sweep, second, sweep.job)
    second.refresh_from_db()
    assert (second.state, second.attempt, second.claimed_until) == (TrialState.WAITING, 0, None)
    assert job_state(sweep) == JobState.CANCELLED
    assert Trial.objects.filter(sweep=sweep, state=TrialState.FINISHED).count() == 1
    resumed = services.sweep_resume(user=editor, sweep=Sweep.objects.get(pk=sweep.pk))
    assert resumed.job_id != sweep.job_id
    seed_sweeps.work_off()
    assert Trial.objects.filter(sweep=sweep, state=TrialState.FINISHED).count() == 8
    assert job_state(resumed) == JobState.SUCCEEDED


def test_a_sweep_that_all_workers_left_is_sent_out_again_however_often(editor: User) -> None:
    sweep = begin_sweep(editor)
    for number in range(1, 5):
        long_ago = timezone.now() - 2 * jobs.SILENT
        Job.objects.filter(pk=job_of(sweep).pk).update(heartbeat_at=long_ago)
        assert jobs.jobs_reconcile()["requeued"] == 1
        tasks.run(str(sweep.job_id))
        assert job_of(sweep).attempt == number + 1
    seed_sweeps.work_off()
    assert job_state(sweep) == JobState.SUCCEEDED


def test_the_sweep_fails_with_the_base_policy_s_trial_and_says_why(editor: User) -> None:
    sweep = seed_sweeps.sweep(editor, objectives=[{"measure": "use_skew_cpu"}])
    assert sweep.job is not None
    assert sweep.job.state == JobState.FAILED
    assert "This scenario gives no value of use_skew_cpu; it gives " in sweep.job.error
    assert sweep.trials.filter(state=TrialState.FINISHED).count() == 0


def test_a_trial_that_fails_costs_only_itself(editor: User, monkeypatch: pytest.MonkeyPatch) -> None:
    play_trial = worker._play_trial

    def play(sweep: Sweep, trial: Trial, progress: Any) -> dict[str, Any]:
        if trial.number == 2:
            raise RuntimeError("a secret detail")
        return play_trial(sweep, trial, progress)

    monkeypatch.setattr(worker, "_play_trial", play)
    sweep = seed_sweeps.sweep(editor)
    failed_trial = sweep.trials.get(state=TrialState.FAILED)
    assert failed_trial.number == 2
    assert "secret" not in failed_trial.error
    assert str(sweep.pk) in failed_trial.error
    assert sweep.trials.filter(state=TrialState.FINISHED).count() == 7
    assert sweep.job is not None
    assert sweep.job.state == JobState.SUCCEEDED


def test_a_trial_plays_the_scenario_with_every_seed(editor: User) -> None:
    sweep = seed_sweeps.sweep(editor, seeds=[1, 2])
    assert {len(values) for trial in sweep.trials.all() for values in trial.values.values()} == {2}


class TestLostProcess:
    """The process that did a trial was ended, by its memory or by the system; its worker says what becomes of it."""

    SENTENCE = "This needed more memory than the 2,048 MiB that a job may use."

    def lose_claim(self, sweep: Sweep, number: int) -> None:
        """Claim the trial as a process does, and lose that."""
        Trial.objects.filter(sweep=sweep, number=number).update(
            state=TrialState.RUNNING, worker="worker@host 123", claimed_until=timezone.now() + worker.CLAIM, attempt=1
        )
        worker.turn_lost(str(sweep.pk), "worker@host", ProcessLost(self.SENTENCE, 123))

    def test_a_trial_too_large_fails_with_the_sentence_and_the_others_go_on(self, editor: User) -> None:
        sweep = begin_sweep(editor)
        self.lose_claim(sweep, 3)
        failed_trial = Trial.objects.get(sweep=sweep, number=3)
        assert (failed_trial.state, failed_trial.error) == (TrialState.FAILED, self.SENTENCE)
        seed_sweeps.work_off()
        assert Trial.objects.filter(sweep=sweep, state=TrialState.FINISHED).count() == 7
        assert job_state(sweep) == JobState.SUCCEEDED

    def test_a_base_policy_too_large_ends_the_sweep_with_the_sentence(self, editor: User) -> None:
        sweep = begin_sweep(editor)
        self.lose_claim(sweep, 0)
        assert job_of(sweep).error == f"The base policy's trial failed: {self.SENTENCE}"

    def test_what_another_process_of_the_worker_does_is_left_alone(self, editor: User) -> None:
        sweep = begin_sweep(editor)
        claim = worker.trial_claim(sweep, "worker@host 124")
        worker.turn_lost(str(sweep.pk), "worker@host", ProcessLost(self.SENTENCE, 123))
        assert claim is not None
        assert Trial.objects.get(pk=claim.pk).state == TrialState.RUNNING

    def test_what_says_that_memory_ran_out_reaches_the_process(
        self, editor: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def play(*_: Any) -> dict[str, Any]:
            raise Unprocessable("It cannot be played.") from MemoryError()

        monkeypatch.setattr(worker, "_play_trial", play)
        with pytest.raises(Unprocessable):
            worker.turn_do(begin_sweep(editor), "one")
