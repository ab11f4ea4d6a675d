"""By what a live scheduler elects its leader, who says so, and what happens when a roll-out says otherwise."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.election.terms import SettingSource, election_of, terms_of
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.live.schedulers.selectors import revision_in_force
from kschedweb.live.schedulers.services import FORGOTTEN
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import ApplicationError, Conflict

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.policies.models import Policy

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
LOCK = {"resourceName": "batch", "resourceNamespace": "schedulers"}
TIMES = {"leaseDuration": "60s", "renewDeadline": "40s", "retryPeriod": "5s"}
DEFAULTS = {
    "leaderElect": "true",
    "resourceLock": "leases",
    "resourceNamespace": "kube-system",
    "resourceName": "kschedweb-kschedweb",
    "leaseDuration": "15s",
    "renewDeadline": "10s",
    "retryPeriod": "2s",
}


def document(**election: Any) -> str:
    lines = [f"  {name}: {str(value).lower() if value is False else value}" for name, value in election.items()]
    return HEAD + "\n".join(["leaderElection:", *lines]) + "\n"


@pytest.fixture
def policy(admin: User) -> Callable[..., Policy]:
    def make(name: str = "elects", **election: Any) -> Policy:
        return policy_create(name=name, document=document(**election), author=admin)

    return make


def list_settings(live: LiveScheduler) -> dict[str, tuple[str, str, str]]:
    return {setting.name: (setting.value, setting.source, setting.overruled) for setting in terms_of(live).settings}


def roll_out(live: LiveScheduler, admin: User, to: Policy) -> LiveScheduler:
    revision = to.revisions.select_related("policy").get()
    return services.live_roll_out(user=admin, live=live, revision=revision, expected=revision_in_force(live))


def test_a_policy_that_says_nothing_leaves_the_cluster_its_own_lock(live: LiveScheduler) -> None:
    assert {name: value for name, (value, _, _) in list_settings(live).items()} == DEFAULTS
    sources = {source for _, source, _ in list_settings(live).values()}
    assert sources == {SettingSource.SITE, SettingSource.DEFAULT}  # the site alone says that a leader is elected


def test_what_the_policy_says_is_used(live: LiveScheduler, admin: User, policy: Callable[..., Policy]) -> None:
    live = roll_out(live, admin, policy(**LOCK, **TIMES, leaderElect=False))
    settings = list_settings(live)
    assert {name: settings[name][:2] for name in {**LOCK, **TIMES}} == {
        name: (value, SettingSource.POLICY) for name, value in {**LOCK, **TIMES, "leaseDuration": "1m0s"}.items()
    }
    assert settings["leaderElect"] == ("true", SettingSource.SITE, "false")
    terms = terms_of(live)
    assert (terms.title, terms.lease, terms.renew, terms.retry) == ("leases schedulers/batch", 60, 40, 5)


def test_kube_schedulers_own_name_counts_where_it_is_written(
    live: LiveScheduler, admin: User, policy: Callable[..., Policy]
) -> None:
    live = roll_out(live, admin, policy(resourceName="kube-scheduler"))
    assert terms_of(live).title == "leases kube-system/kube-scheduler"


def test_settings_of_the_live_scheduler_and_of_the_site_win_and_say_over_what(
    live: LiveScheduler, admin: User, policy: Callable[..., Policy], settings: Any
) -> None:
    live = roll_out(live, admin, policy(**LOCK, **TIMES))
    live = services.live_change(user=admin, live=live, lock="configmapsleases", lease_name="mine")
    settings.LEASE_SECONDS = 6
    settings_by_name = list_settings(live)
    assert settings_by_name["resourceLock"] == ("configmapsleases", SettingSource.SCHEDULER, "")
    assert settings_by_name["resourceName"] == ("mine", SettingSource.SCHEDULER, "batch")
    assert settings_by_name["resourceNamespace"] == ("schedulers", SettingSource.POLICY, "")
    assert settings_by_name["leaseDuration"] == ("6s", SettingSource.SITE, "1m0s")
    assert settings_by_name["renewDeadline"] == ("4s", SettingSource.SITE, "40s")
    assert settings_by_name["retryPeriod"] == ("0.8s", SettingSource.SITE, "5s")


@pytest.mark.parametrize(
    ("election", "reason"),
    [
        ({"renewDeadline": "2400ms"}, "renewDeadline must be greater than retryPeriod*JitterFactor"),
        ({"leaseDuration": "10500ms"}, "must be at least 1 s longer than renewDeadline"),
        ({"resourceName": "No Name"}, "leaderElection.resourceName: No Name is no name in Kubernetes"),
        ({"resourceNamespace": "kube.system"}, "leaderElection.resourceNamespace: kube.system is no name"),
    ],
)
def test_what_nobody_could_be_elected_by_is_refused_for_scheduling(
    live: LiveScheduler, admin: User, policy: Callable[..., Policy], election: dict[str, str], reason: str
) -> None:
    live = roll_out(live, admin, policy(**election))  # off, it elects nobody
    with pytest.raises(ApplicationError) as refused:
        services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    assert reason in refused.value.detail
    assert refused.value.errors[0]["path"] == "policy"


def test_who_takes_part_by_the_old_lock_is_waited_for(
    live: LiveScheduler, admin: User, policy: Callable[..., Policy]
) -> None:
    started = timezone.now()
    before = services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    assert all(services.candidate_join(live=before, identity=identity, started_at=started) for identity in ("a", "b"))
    after = roll_out(live, admin, policy(**LOCK))
    # Who has not read the row yet does not begin by the old lock, who has read it not by the new one.
    assert not services.candidate_join(live=before, identity="c", started_at=started)
    services.candidate_leave(live=after, identity="a")
    assert not services.candidate_join(live=after, identity="a", started_at=started)
    services.candidate_leave(live=after, identity="b")
    assert services.candidate_join(live=after, identity="a", started_at=started)
    assert Candidate.objects.get().election == "leases schedulers/batch"
    assert services.candidate_join(live=after, identity="b", started_at=started)


def test_other_times_of_the_same_lock_need_no_wait(
    live: LiveScheduler, admin: User, policy: Callable[..., Policy]
) -> None:
    started = timezone.now()
    before = services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    services.candidate_join(live=before, identity="a", started_at=started)
    after = roll_out(live, admin, policy(**TIMES))
    assert election_of(after) == election_of(before)
    assert services.candidate_join(live=after, identity="b", started_at=started)


def test_another_lock_is_not_rolled_out_while_a_silent_process_may_lead_by_the_old_one(
    live: LiveScheduler, admin: User, policy: Callable[..., Policy]
) -> None:
    live = services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    services.candidate_join(live=live, identity="a", started_at=timezone.now())
    Candidate.objects.update(heartbeat=Now() - timedelta(minutes=1))
    same, other = policy("same", **TIMES), policy("other", **LOCK)
    with pytest.raises(Conflict, match="It fell silent") as refused:
        roll_out(live, admin, other)
    assert refused.value.errors[0]["path"] == "revision"
    roll_out(live, admin, same)
    Candidate.objects.update(heartbeat=Now() - FORGOTTEN)
    live.refresh_from_db()
    assert election_of(roll_out(live, admin, other)) == "leases schedulers/batch"
