"""Each mode works with exactly the rights of its manifests, as a service account of the real API server."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.credentials import Secret
from kschedweb.clusters.following.facts import KnownPods
from kschedweb.clusters.following.reflector import Reflector
from kschedweb.clusters.kinds import KINDS
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import PodRef
from kschedweb.live.schedulers.election.elector import Elector
from kschedweb.live.schedulers.election.locks import LEASES, PARTS, make_lock
from kschedweb.live.schedulers.rbac import (
    EXTENDER,
    SCHEDULING,
    SHADOW,
    Needs,
    build_manifests,
    rights_for,
    rights_missing,
)
from kschedweb.live.schedulers.writing.recorder import EventRecorder
from kschedweb.live.schedulers.writing.writer import WriteCode, Writer
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

PODS = "/api/v1/namespaces/default/pods"
COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/kschedweb/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
}
LOCKS = {
    "leases": "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kschedweb-rbac",
    "endpoints": "/api/v1/namespaces/kube-system/endpoints/kschedweb-rbac",
    "configmaps": "/api/v1/namespaces/kube-system/configmaps/kschedweb-rbac",
}


class Account:
    """The service account of the manifests, whose roles are what was applied last."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.token = ""
        self.applied: list[tuple[str, Json]] = []

    def apply(self, needs: Needs) -> Client:
        self.withdraw()
        for item in build_manifests(needs):
            path = COLLECTIONS[item["kind"]]
            if self.plane.request("POST", path, item).status == 201:
                self.applied.append((f"{path}/{item['metadata']['name']}", item))
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"{COLLECTIONS['ServiceAccount']}/kschedweb/token"
        self.token = self.plane.call("POST", path, request)["status"]["token"]
        client = self.open()
        wait_until(lambda: not rights_missing(client, rights_for(needs)), "the roles take effect", step=0.1)
        return client

    def open(self) -> Client:
        return Client.open(Secret(server=self.plane.url, ca=self.plane.ca, token=self.token))

    def withdraw(self) -> None:
        for path, item in self.applied:
            if item["kind"] not in ("Namespace", "ServiceAccount"):
                self.plane.request("DELETE", path)
        self.applied.clear()


@pytest.fixture
def account(control_plane: ControlPlane, settings: Settings) -> Iterator[Account]:
    settings.CLUSTER_ALLOWLIST = ["127.0.0.1"]
    service_account = Account(control_plane)
    yield service_account
    service_account.withdraw()
    control_plane.wipe()
    for path in LOCKS.values():
        control_plane.request("DELETE", path)


def pod(plane: ControlPlane, known_pods: KnownPods, name: str) -> PodRef:
    spec = {"schedulerName": "water", "containers": [{"name": "main", "image": "web:1"}]}
    raw = plane.call("POST", PODS, {"metadata": {"name": name}, "spec": spec})
    known_pods.update_pod(raw)
    return PodRef("default", name, raw["metadata"]["uid"])


def leads(client: Client, kind: str = LEASES) -> bool:
    lock = make_lock(kind, client, "kube-system", "kschedweb-rbac", "me")
    elector = Elector(lock, "me")
    elector.acquire_or_renew()
    elector.acquire_or_renew()
    led = elector.leading
    elector.resign()
    return led and not elector.error


@pytest.mark.parametrize("keep_budgets", [False, True])
def test_who_schedules_can_do_all_it_has_to(account: Account, keep_budgets: bool) -> None:
    needs = Needs(SCHEDULING, lease="kschedweb-rbac", preemption=True, keep_budgets=keep_budgets)
    plane, known_pods = account.plane, KnownPods()
    with account.apply(needs) as client:
        assert leads(client)
        writer = Writer(client, known_pods, leading=lambda: True)
        recorder = EventRecorder(client, known_pods, controller="water")
        victim, preemptor = pod(plane, known_pods, "victim"), pod(plane, known_pods, "preemptor")
        assert writer.bind(victim, "node-a").result is WriteCode.BOUND
        assert writer.read_binding(victim, "node-a").result is WriteCode.BOUND
        assert writer.report_unscheduled(preemptor, "Unschedulable", "no room", "node-a").result is WriteCode.WRITTEN
        assert writer.evict(victim, preemptor, "water", keep_budgets=keep_budgets).result is WriteCode.WRITTEN
        recorder.failed_scheduling(preemptor, "no room")
        recorder.failed_scheduling(preemptor, "no room")
        recorder.record_preempted(victim, preemptor, "node-a")
        recorder.close()
        assert (recorder.written, recorder.failed) == (3, 0)


@pytest.mark.parametrize("lock", sorted(set(PARTS) - {LEASES}))
def test_who_leads_by_another_lock_needs_that_one_and_no_other(account: Account, lock: str) -> None:
    with account.apply(Needs(SCHEDULING, lock=lock, lease="kschedweb-rbac")) as client:
        kept_out = [kind for kind in LOCKS if kind not in {part.resource for part in PARTS[lock]}]
        assert leads(client, lock)
        assert not any(leads(client, kind) for kind in kept_out)


def test_a_shadow_follows_every_kind_and_changes_nothing(account: Account) -> None:
    plane, known_pods = account.plane, KnownPods()
    with account.apply(Needs(SHADOW, lease="kschedweb-rbac")) as client:
        assert not leads(client)
        followed = [Reflector(account.open, kind, lambda _: None) for kind in KINDS]
        try:
            for reflector in followed:
                reflector.start()
            for reflector in followed:
                if not reflector.kind.optional:
                    wait_until(functools.partial(getattr, reflector, "synced"), str(reflector.kind), step=0.05)
            assert not [
                reflector.problem for reflector in followed if reflector.problem and not reflector.kind.optional
            ]
        finally:
            for reflector in followed:
                reflector.end()
            for reflector in followed:
                reflector.join(5)
        refused = Writer(client, known_pods, leading=lambda: True).bind(pod(plane, known_pods, "mine"), "node-a")
        assert refused.result is WriteCode.REFUSED
        assert 'cannot create resource "pods/binding"' in refused.text


def test_an_extender_binds_where_it_is_told_to(account: Account) -> None:
    plane, known_pods = account.plane, KnownPods()
    with account.apply(Needs(EXTENDER, binds=True)) as client:
        writer = Writer(client, known_pods, leading=lambda: True)
        assert writer.bind(pod(plane, known_pods, "handed-over"), "node-a").result is WriteCode.BOUND
        assert not leads(client)
        assert (
            writer.report_unscheduled(pod(plane, known_pods, "other"), "Unschedulable", "no").result
            is WriteCode.REFUSED
        )


def test_each_right_that_is_missing_is_named(account: Account) -> None:
    needs = Needs(SCHEDULING, lease="kschedweb-rbac", preemption=True)
    with account.apply(Needs(SHADOW, lease="kschedweb-other")) as client:
        missing_rights = {str(right) for right in rights_missing(client, rights_for(needs))}
        assert missing_rights == {
            "create pods/binding",
            "get pods",
            "patch pods/status",
            "create events",
            "patch events",
            "delete pods",
            "get persistentvolumeclaims",
            "patch persistentvolumeclaims",
            "get persistentvolumes",
            "patch persistentvolumes",
            "get resourceclaims",
            "patch resourceclaims",
            "create resourceclaims",
            "delete resourceclaims",
            "patch resourceclaims/status",
            "patch resourceclaims/binding",
            "create leases in kube-system",
            "create events in kube-system",
            "get leases kschedweb-rbac in kube-system",
            "update leases kschedweb-rbac in kube-system",
        }
