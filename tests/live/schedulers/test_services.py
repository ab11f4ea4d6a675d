"""Requests that a person may make of a live scheduler, and refused ones."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.releases import CURRENT, load
from kschedweb.live.schedulers import selectors, services
from kschedweb.live.schedulers.election.terms import election_of
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Lock, Mode
from kschedweb.live.schedulers.running.runs import make_run
from kschedweb.policies.models import Policy
from kschedweb.policies.services import policy_create, policy_delete
from kschedweb.web.errors import ApplicationError, Conflict, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

TWO_PROFILES = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - schedulerName: calm
  - schedulerName: busy
    percentageOfNodesToScore: 40
"""


def verbs(live: LiveScheduler) -> list[str]:
    rows = AuditEntry.objects.filter(object_id=str(live.pk)).order_by("pk")
    return [row.verb for row in rows]


def test_a_plugin_of_others_that_binds_is_refused_for_scheduling_only(
    connected: Cluster, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = PluginSpec("Elsewhere", frozenset({"bind"}), "Binds by other means.")
    enabled = {"bind": {"enabled": [{"name": "Elsewhere"}]}}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "kschedweb", "plugins": enabled}],
    }
    loaded = load(document, release=CURRENT.with_plugins(spec)).configuration
    policy = policy_create(name="binds", document=TWO_PROFILES, author=admin)
    monkeypatch.setattr(selectors, "load_configuration", lambda revision, version: loaded)
    fields: dict[str, Any] = {"user": admin, "cluster": connected, "scheduler_name": "kschedweb", "policy": policy}
    live = services.live_create(mode=Mode.SHADOW, **fields)
    with pytest.raises(ApplicationError) as refused:
        services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    assert refused.value.errors[0]["path"] == "policy"
    assert "bound by Elsewhere: in mode scheduling DefaultBinder alone binds" in refused.value.detail
    # A policy that comes to this later stops the run with the same words.
    live.mode = Mode.SCHEDULING
    with pytest.raises(Unprocessable, match="bound by Elsewhere"):
        make_run(live, "test")


def test_a_name_is_taken_once_a_cluster(live: LiveScheduler, admin: User) -> None:
    with pytest.raises(Conflict) as refused:
        services.live_create(user=admin, cluster=live.cluster, scheduler_name="kschedweb", policy=live.policy)
    assert refused.value.errors[0]["path"] == "scheduler_name"
    assert LiveScheduler.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("scheduler_name", {"scheduler_name": "Not A Name"}),
        ("mode", {"mode": "sideways"}),
        ("keep_days", {"keep_days": 0}),
        ("burst", {"qps": 50, "burst": 0}),
        ("lease_namespace", {"lease_namespace": "kube.system"}),
        ("lease_name", {"lease_name": "No/Name"}),
    ],
)
def test_what_cannot_work_is_refused_beside_its_field(
    connected: Cluster, default_policy: Policy, admin: User, field: str, values: dict[str, Any]
) -> None:
    arguments: dict[str, Any] = {"scheduler_name": "kschedweb", **values}
    with pytest.raises(ApplicationError) as refused:
        services.live_create(user=admin, cluster=connected, policy=default_policy, **arguments)
    assert [problem["path"] for problem in refused.value.errors] == [field]
    assert not LiveScheduler.objects.exists()
    assert not AuditEntry.objects.filter(verb="live.created").exists()


def test_an_imported_cluster_can_have_one_that_is_off_only(admin: User, default_policy: Policy) -> None:
    imported = Cluster.objects.create(name="files", source=ClusterSource.IMPORT)
    live = services.live_create(user=admin, cluster=imported, scheduler_name="kschedweb", policy=default_policy)
    with pytest.raises(Unprocessable) as refused:
        services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    assert refused.value.errors[0]["path"] == "cluster"
    live.refresh_from_db()
    assert live.mode == Mode.OFF


def test_pause_step_and_resume_are_columns_of_the_row(live: LiveScheduler, admin: User) -> None:
    with pytest.raises(Conflict, match="does not schedule"):
        services.live_pause(user=admin, live=live)
    services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    with pytest.raises(Conflict, match="not paused"):
        services.live_step(user=admin, live=live)
    services.live_pause(user=admin, live=live)
    services.live_step(user=admin, live=live, pods=2)
    services.live_step(user=admin, live=live)
    live.refresh_from_db()
    assert (live.paused, live.steps) == (True, 3)
    services.live_resume(user=admin, live=live)
    live.refresh_from_db()
    assert (live.paused, live.steps) == (False, 0)
    assert verbs(live) == [
        "live.created", "live.mode-changed", "live.paused", "live.stepped", "live.stepped", "live.resumed",
    ]  # fmt: skip


def test_switching_the_mode_ends_a_pause(live: LiveScheduler, admin: User) -> None:
    services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    services.live_pause(user=admin, live=live)
    services.live_set_mode(user=admin, live=live, mode=Mode.SHADOW)
    live.refresh_from_db()
    assert not live.paused


def test_only_one_that_is_off_is_deleted(live: LiveScheduler, admin: User) -> None:
    services.live_set_mode(user=admin, live=live, mode=Mode.SHADOW)
    with pytest.raises(Conflict, match="switch it off"):
        services.live_delete(user=admin, live=live)
    services.live_set_mode(user=admin, live=live, mode=Mode.OFF)
    services.live_delete(user=admin, live=live)
    assert not LiveScheduler.objects.exists()


def test_a_policy_at_work_cannot_be_deleted(connected: Cluster, admin: User) -> None:
    policy = policy_create(name="packing", document=TWO_PROFILES, author=admin)
    services.live_create(user=admin, cluster=connected, scheduler_name="busy", policy=policy)
    with pytest.raises(Conflict, match="live scheduler uses"):
        policy_delete(policy=policy, author=admin)
    assert Policy.objects.filter(name="packing").exists()


def test_the_profile_is_the_one_of_its_name_or_the_only_one(live: LiveScheduler, admin: User) -> None:
    only = selectors.live_configuration(live, selectors.revision_in_force(live))
    assert [profile.scheduler_name for profile in only.profiles] == ["kschedweb"]
    policy = policy_create(name="two", document=TWO_PROFILES, author=admin)
    busy = services.live_create(user=admin, cluster=live.cluster, scheduler_name="busy", policy=policy)
    configuration = selectors.live_configuration(busy, selectors.revision_in_force(busy))
    assert [(profile.scheduler_name, profile.percentage_of_nodes_to_score) for profile in configuration.profiles] == [
        ("busy", 40)
    ]
    with pytest.raises(Unprocessable, match="calm, busy"):
        services.live_create(user=admin, cluster=live.cluster, scheduler_name="other", policy=policy)


def test_one_process_hosts_what_has_no_lease_until_it_leaves_or_falls_silent(live: LiveScheduler) -> None:
    assert services.host_claim(live=live, identity="a")
    assert not services.host_claim(live=live, identity="b")
    assert services.host_claim(live=live, identity="a")
    services.host_leave(live=live, identity="b")
    assert not services.host_claim(live=live, identity="b")
    LiveScheduler.objects.filter(pk=live.pk).update(held_until=timezone.now() - timedelta(seconds=1))
    assert services.host_claim(live=live, identity="b")
    services.host_leave(live=live, identity="b")
    assert services.host_claim(live=live, identity="a")


def test_steps_are_taken_once(live: LiveScheduler, admin: User) -> None:
    services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    services.live_pause(user=admin, live=live)
    services.live_step(user=admin, live=live, pods=2)
    live.refresh_from_db()
    assert services.steps_take(live=live) == 2
    assert services.steps_take(live=live) == 0
    live.refresh_from_db()
    assert live.steps == 0


def scheduling(live: LiveScheduler, admin: User, lock: str) -> LiveScheduler:
    services.live_change(user=admin, live=live, lock=lock)
    return services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)


def test_a_lock_moves_step_by_step_while_everybody_follows(live: LiveScheduler, admin: User) -> None:
    live = scheduling(live, admin, Lock.ENDPOINTS)
    started = timezone.now()
    assert services.candidate_join(live=live, identity="a", started_at=started)
    assert services.candidate_join(live=live, identity="b", started_at=started)
    with pytest.raises(Conflict, match="Go by way of endpointsleases, or switch it off first") as refused:
        services.live_change(user=admin, live=live, lock=Lock.LEASES)
    assert refused.value.errors[0]["path"] == "lock"
    assert "a takes part by endpoints kube-system/kschedweb-kschedweb" in refused.value.detail
    pair = services.live_change(user=admin, live=live, lock=Lock.ENDPOINTSLEASES)
    # Who read the row before it was changed does not begin.
    assert not services.candidate_join(live=live, identity="c", started_at=started)
    assert services.candidate_join(live=pair, identity="a", started_at=started)
    with pytest.raises(Conflict, match=r"b takes part by endpoints .* Wait until it has followed"):
        services.live_change(user=admin, live=live, lock=Lock.LEASES)
    services.candidate_leave(live=live, identity="b")
    services.live_change(user=admin, live=live, lock=Lock.LEASES)
    live.refresh_from_db()
    assert election_of(live) == "leases kube-system/kschedweb-kschedweb"


def test_a_lock_of_another_name_keeps_nobody_out(live: LiveScheduler, admin: User) -> None:
    live = scheduling(live, admin, Lock.LEASES)
    services.candidate_join(live=live, identity="a", started_at=timezone.now())
    with pytest.raises(Conflict, match="Switch it off first") as refused:
        services.live_change(user=admin, live=live, lease_name="other")
    assert refused.value.errors[0]["path"] == "lease_name"
    services.live_set_mode(user=admin, live=live, mode=Mode.OFF)
    services.live_change(user=admin, live=live, lease_name="other")
    # The process may not have heard of it yet.
    with pytest.raises(Conflict, match="Wait until it has followed or ended"):
        services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)
    services.candidate_leave(live=live, identity="a")
    services.live_set_mode(user=admin, live=live, mode=Mode.SCHEDULING)


def test_who_fell_silent_long_ago_holds_no_lock_up(live: LiveScheduler, admin: User) -> None:
    live = scheduling(live, admin, Lock.CONFIGMAPS)
    services.candidate_join(live=live, identity="a", started_at=timezone.now())
    silent = timezone.now() - services.FORGOTTEN - timedelta(seconds=1)
    Candidate.objects.update(heartbeat=silent)
    services.live_change(user=admin, live=live, lock=Lock.LEASES)
    live.refresh_from_db()
    assert live.lock == Lock.LEASES
