"""Status of a live scheduler: as old as the last word of its leader, by the database's clock alone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import Candidate, LiveScheduler
from kschedweb.live.schedulers.status import status_of
from tests.support import seed_live

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LEADS = {"leading": True, "synced": True, "epoch": 3}


@pytest.fixture
def live(admin: User) -> LiveScheduler:
    scheduler_row: LiveScheduler = seed_live.scheduler(admin)
    return scheduler_row


def beat(live: LiveScheduler, identity: str = "host-1_4711", **report: Any) -> None:
    services.candidate_beat(
        live=live, identity=identity, started_at=timezone.now(), silent=0.0, revision=None, report=LEADS | report
    )


def silent_for(live: LiveScheduler, seconds: float) -> None:
    live.candidates.update(heartbeat=Now() - timedelta(seconds=seconds), ticked_at=Now() - timedelta(seconds=seconds))


@pytest.mark.parametrize("wrong", [-HOUR, HOUR])
def test_a_leader_whose_clock_is_wrong_is_seen_at_work(
    live: LiveScheduler, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    right = timezone.now
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: right() + wrong)
        beat(live)
    status = status_of(live)
    assert (status.state, status.tone) == ("Scheduling", "green")
    assert status.leader is not None
    assert status.leader.silent < timedelta(minutes=1)


@pytest.mark.parametrize("wrong", [-HOUR, HOUR])
def test_a_web_process_whose_clock_is_wrong_sees_the_same(
    live: LiveScheduler, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    right = timezone.now
    beat(live)
    monkeypatch.setattr(timezone, "now", lambda: right() + wrong)
    assert status_of(live).tone == "green"


def test_a_leader_that_says_nothing_for_six_seconds_is_not_green(live: LiveScheduler) -> None:
    beat(live)
    silent_for(live, 6)
    status = status_of(live)
    assert (status.state, status.tone) == ("Silent", "amber")
    assert "heartbeats" in status.advice


def test_a_leader_that_says_nothing_for_long_leads_no_more(live: LiveScheduler) -> None:
    beat(live)
    silent_for(live, 16)
    status = status_of(live)
    assert status.leader is None
    assert status.tone == "red"


def test_a_standby_that_goes_on_hides_nothing(live: LiveScheduler) -> None:
    beat(live)
    silent_for(live, 6)
    beat(live, "host-2_4712", leading=False)
    assert status_of(live).state == "Silent"


def test_the_age_of_each_heartbeat_is_told_over_rest(live: LiveScheduler, api_as: Any) -> None:
    beat(live)
    silent_for(live, 6)
    (candidate,) = api_as("viewer").get(f"/api/v1/live/{live.pk}/").json()["status"]["candidates"]
    assert 6 <= candidate["silent_seconds"] < 60


@pytest.mark.parametrize("wrong", [-HOUR, HOUR])
def test_a_claim_runs_out_by_the_database_s_clock(
    live: LiveScheduler, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    right = timezone.now
    assert services.host_claim(live=live, identity="one")
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: right() + wrong)
        assert not services.host_claim(live=live, identity="another")
    LiveScheduler.objects.update(held_until=Now() - timedelta(seconds=1))
    assert services.host_claim(live=live, identity="another")


def test_rows_of_processes_that_are_long_gone_are_deleted(live: LiveScheduler) -> None:
    beat(live)
    silent_for(live, services.FORGOTTEN.total_seconds() + 1)
    beat(live, "host-2_4712")
    assert [candidate.identity for candidate in Candidate.objects.all()] == ["host-2_4712"]
