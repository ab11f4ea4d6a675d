"""People of one namespace on every page and on every REST operation: no answer names a pod of another namespace.

Everything there is was seeded for pods of others, whose names are unmistakable, in clusters whose nodes, names and
snapshots these people do see.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pytest
from django.test import override_settings
from django.urls import resolve
from django.utils import timezone

from kschedweb.accounts.models import Grant, GrantScope, User
from kschedweb.accounts.roles import Role
from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster
from kschedweb.live.approvals.models import ApprovalRequest
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.watermarks.container_book import book_add
from kschedweb.watermarks.figures import WORKLOAD, WORKLOAD_STATISTICS, Figure
from kschedweb.watermarks.inventory import inventory_make
from kschedweb.watermarks.models import ContainerBook, Resolution
from kschedweb.watermarks.storage import samples_store
from tests.api.conftest import WEBHOOK_HOSTS, Seed, create_seed, pod
from tests.api.test_grants import Beyond, Call, calls, page_client, sent, text_of, token_client, undone
from tests.support import addresses, seed_approvals, seed_groups
from tests.support.addresses import Places
from tests.support.routes import Choose
from tests.support.sandbox import TOKEN
from tests.support.seed import measured
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from django.http import HttpResponse

pytestmark = pytest.mark.django_db

MARK = "zinnober-"
OURS = "unsere"  # their namespace, and the beginning of the names of its pods
# What names pods of others, their owners and groups; nodes and clusters begin with MARK too, and are seen.
FOREIGN = tuple(MARK + name for name in ("bound", "pending", "fits", "held", "web", "gang"))


def objects() -> list[dict[str, Any]]:
    """Pods of theirs, and more of others: owned, in a group, and such as would be evicted for one of theirs."""
    ours: dict[str, Any] = {"namespace": OURS}
    others: dict[str, Any] = {"namespace": "fremd"}
    return [
        pod(f"{OURS}-bound-0", "500m", f"{MARK}a", owner=f"{OURS}-bound", **ours),
        pod(f"{OURS}-pending", "100", **ours),
        pod(f"{OURS}-urgent", "3", priority=1000, **ours),
        pod(f"{OURS}-fits", "100m", group=f"{OURS}-gang", **ours),
        seed_groups.group(f"{OURS}-gang", 1, **ours),
        pod(f"{MARK}web-0", "1", f"{MARK}a", owner=f"{MARK}web", **others),
        pod(f"{MARK}web-1", "100m", group=f"{MARK}gang", **others),
        seed_groups.group(f"{MARK}gang", 1, **others),
        pod(f"{MARK}web-2", "lots", **others),  # cannot be read, and is a problem of the snapshot
    ]


@pytest.fixture(scope="module")
def seeded(rows_of_module: Callable[[], AbstractContextManager[None]], sandbox_address: str) -> Iterator[Seed]:
    at_work = {"SANDBOX_SERVER": sandbox_address, "SANDBOX_TOKEN": TOKEN}
    with rows_of_module(), override_settings(CLUSTER_ALLOWLIST=WEBHOOK_HOSTS, **at_work):
        clusters.sandbox_connect()
        more = objects()
        found = create_seed(MARK, more)
        used(found.cluster, more)
        LiveDecision.objects.update(name=f"{MARK}held")
        ApprovalRequest.objects.update(name=f"{MARK}held")
        theirs = seed_approvals.request(found.decision.scheduler, f"{OURS}-held")
        ApprovalRequest.objects.filter(pk=theirs.pk).update(namespace=OURS)
        LiveDecision.objects.filter(name=f"{OURS}-held").update(namespace=OURS)
        yield found


def used(cluster: Cluster, listed: list[dict[str, Any]]) -> None:
    """Two hours of what containers and workloads of both used."""
    last = int(timezone.now().timestamp()) // 300 * 300 - 300  # A book of the same time would be taken for known.
    amounts = {"cpu": 0.02, "memory": 64.0 * 2**20}
    rows = {(OURS, f"{OURS}-bound-0", "c"): amounts, ("fremd", f"{MARK}web-0", "c"): amounts}
    ContainerBook.objects.filter(pk=cluster.pk).delete()
    times = range(last - 7200 + 300, last + 1, 300)
    book_add(
        cluster=cluster,
        inventory=inventory_make(listed),
        rows=[(at, rows) for at in times],
        origin="demo",
        peaks=Resolution.FIVE_MINUTES,
    )
    names = [f"{OURS}/StatefulSet/{OURS}-bound", f"fremd/StatefulSet/{MARK}web"]
    figures = {
        Figure(WORKLOAD, resource, statistic): np.full(2, amounts[resource])
        for resource in ("cpu", "memory")
        for statistic in WORKLOAD_STATISTICS
    }
    samples_store(cluster=cluster, kind=WORKLOAD, names=names, rows=[(last, figures)], origin="demo")
    measured(cluster.name, [f"{MARK}a", f"{MARK}b"], 2)


def theirs(seed: Seed) -> Places:
    """What is about pods of their namespace."""
    approval = ApprovalRequest.objects.get(namespace=OURS)
    return replace(
        seed.places,
        fitting=f"{OURS}/{OURS}-fits",
        stuck=f"{OURS}/{OURS}-urgent",
        sized=f"{OURS}/StatefulSet/{OURS}-bound",
        approval=str(approval.pk),
        live_decision=str(LiveDecision.objects.get(namespace=OURS).pk),
    )


def asked_for(seed: Seed, *, rest: bool) -> dict[str, str]:
    """Addresses about their pods, by name."""
    at = theirs(seed)
    name = seed.cluster.name
    if rest:
        return addresses.resources(at) | {
            "podgroup:theirs": f"/api/v1/clusters/{name}/podgroups/{OURS}/{OURS}-gang/",
            "podgroups": f"/api/v1/clusters/{name}/podgroups/",
            "snapshot:theirs": f"/api/v1/clusters/{name}/snapshots/{seed.snapshot.pk}/",
            "pods:then": f"/api/v1/clusters/{name}/pods/?snapshot={seed.snapshot.pk}&limit=500",
        }
    found = addresses.pages(at) | {
        "search": "/search/?q=unsere",
        "search:others": f"/search/?q={MARK}",
        "search:pods": f"/search/?q={MARK}&kind=pods",
        "fleet-search:others": f"/fleet/search/?q={MARK}",
        "pod-group:theirs": f"/clusters/{name}/podgroups/{OURS}/{OURS}-gang/?gates=on",
        "pods:all": f"/pods/?cluster={name}&ordering=name",
        "pods:others": f"/pods/?cluster={name}&namespace=default",
        "pods:node": f"/pods/?cluster={name}&node={MARK}a",
        "live-pod": f"/live/pod/{seed.decision.scheduler.cluster.name}/{OURS}/{OURS}-held/",
        "capacity-fit:theirs": f"/capacity/?cluster={name}&workload={OURS}/StatefulSet/{OURS}-bound&limit=10",
        "capacity-fit:others": f"/capacity/?cluster={name}&workload=fremd/StatefulSet/{MARK}web&limit=10",
    }
    files = {f"{key}:{form}": f"{one}{'&' if '?' in one else '?'}format={form}"
             for key, one in found.items() if gives_files(one) for form in ("csv", "json")}  # fmt: skip
    return found | files


def gives_files(address: str) -> bool:
    """Whether the page's module reads ``?format=``; others would answer with the same page again."""
    module = sys.modules[resolve(address.partition("?")[0]).func.__module__]
    return '.get("format"' in inspect.getsource(module)


def granted(role: str) -> User:
    """Somebody with ``role`` in their namespace of all clusters, and nothing else."""
    found, new = User.objects.get_or_create(username=f"{role}-of-one", defaults={"role": Role.NONE})
    if new:
        Grant.objects.create(user=found, role=role, scope=GrantScope.ALL, namespaces=[OURS])
    return found


def wrong(call: Call, answer: HttpResponse) -> str:
    """What this answer tells or does beyond the person's namespace; "" for nothing."""
    if answer.status_code >= 500:
        return f"{answer.status_code}"
    given, text = unquote(call.address) + json.dumps(call.body or {}), unquote(text_of(answer))
    if leaks := [name for name in FOREIGN if name in text and name not in given]:
        at = text.index(leaks[0])
        return f"{answer.status_code} names {leaks}: {text[max(at - 80, 0) : at + 60]!r}"
    asked = [name for name in FOREIGN if name in unquote(call.address).partition("?")[0]]
    if asked and answer.status_code < 400:
        return f"{answer.status_code} about {asked}"
    return ""


# An editor or approver does less than an admin, and reads the same.
@pytest.mark.parametrize("rest", [False, True], ids=["pages", "rest"])
@pytest.mark.parametrize("role", one_of(Role.ADMIN, Role.VIEWER))
def test_nobody_learns_of_pods_of_another_namespace(seed: Seed, choose: Choose, role: str, rest: bool) -> None:
    user, found = granted(role), []
    client = token_client(user) if rest else page_client(user)
    asked = [call for call in calls(seed, choose, rest=rest) if role == Role.ADMIN or call.method == "get"]
    known = {one.address for one in asked if one.method == "get"}
    asked += [Call("get", one, False) for one in asked_for(seed, rest=rest).values() if one not in known]
    beyond = Beyond(user)
    for call in asked:
        with undone():
            answer, changed = beyond.changed_by(partial(sent, client, call))
            if problem := wrong(call, answer):
                found.append(f"{call}: {problem}")
            if changed and call.method != "get":
                found.append(f"{call}: changes what lies beyond")
    print(f"\n{len(asked)} requests as {role}")
    assert not found, "\n".join(found)


def test_it_is_a_long_walk(seed: Seed, choose: Choose) -> None:
    asked = [len(calls(seed, choose, rest=rest)) for rest in (False, True)]
    of_theirs = [len(asked_for(seed, rest=rest)) for rest in (False, True)]
    assert sum(asked) + sum(of_theirs) > 1_200


def test_what_they_do_with_pods_of_theirs_is_done(seed: Seed) -> None:
    client, name = token_client(granted(Role.ADMIN)), seed.cluster.name
    mine, others = ApprovalRequest.objects.get(namespace=OURS), seed.approval
    for address, body, status in (
        (f"/api/v1/approvals/{mine.pk}/approve/", {}, 200),
        (f"/api/v1/approvals/{others.pk}/approve/", {}, 404),
        ("/api/v1/capacity/fit/", {"cluster": name, "pod": {"workload": f"{OURS}/StatefulSet/{OURS}-bound"}}, 200),
        ("/api/v1/capacity/fit/", {"cluster": name, "pod": {"workload": f"fremd/StatefulSet/{MARK}web"}}, 404),
        ("/api/v1/capacity/nodes/", {"cluster": name, "pending": True, "node": {"like": f"{MARK}a"}}, 403),
        ("/api/v1/right-sizing/scenario/", {"cluster": name}, 403),
        (f"/api/v1/clusters/{name}/refresh/", {}, 403),
    ):
        with undone():
            answer = client.post(address, body)
            assert answer.status_code == status, (address, answer.content)


# What people of one namespace work with: it answers, and names pods of theirs.
WORKS = {
    "pods", "pods:csv", "pods:json", "pods:all", "pods:node", "decision", "decision:stuck", "decisions-together",
    "search", "approvals", "approval", "approvals-history", "live-scheduler", "live-decision", "live-pod", "pod-groups",
    "pod-group:theirs", "usage-workloads", "usage-workloads:csv", "costs:workload", "costs:workload:csv",
    "right-sizing", "right-sizing:csv", "right-sizing-workload", "capacity-fit:theirs",
}  # fmt: skip
REST_WORKS = {
    "pods", "pods:then", "decision", "decisions-together", "podgroups", "podgroup:theirs", "approvals", "approval",
    "watermark-workloads", "cost", "right-sizing", "right-sizing-export", "cluster-map-pods", "live-decision",
}  # fmt: skip
# These say no pod's name, and answer.
PLAIN = {
    "overview", "nodes", "nodes:csv", "nodes:state", "clusters", "cluster", "usage", "usage-heatmap",
    "usage-distribution", "usage-nodes", "costs", "live", "policies", "policy", "capacity-fit", "capacity-gangs",
    "right-sizing-apply",
}  # fmt: skip
REST_PLAIN = {
    "clusters", "cluster", "snapshots", "nodes", "cluster-map", "cluster-map-frames", "watermark-history",
    "watermark-skew", "watermark-nodes", "cost-unpriced", "live", "live-scheduler", "policies",
}  # fmt: skip
# These show whole clusters.
REFUSED = {"autoscaling-groups", "capacity-drain", "descheduling", "usage-source", "plans", "cluster-flight"}


@pytest.mark.parametrize("rest", [False, True], ids=["pages", "rest"])
def test_what_they_work_with_answers(seed: Seed, choose: Choose, rest: bool) -> None:
    user = granted(Role.VIEWER)
    client, addressed, wrong = token_client(user) if rest else page_client(user), asked_for(seed, rest=rest), []
    for name in sorted((REST_WORKS | REST_PLAIN) if rest else (WORKS | PLAIN)):
        with undone():
            answer = sent(client, Call("get", addressed[name], False))
            text = text_of(answer)
        if answer.status_code != 200 or (f"{OURS}-" not in text and name in (REST_WORKS if rest else WORKS)):
            wrong.append(f"{name}: {addressed[name]} {answer.status_code}")
    for name in () if rest else REFUSED:
        with undone():
            answer = sent(client, Call("get", addressed[name], False))
            if answer.status_code == 200 and "data-left-out" not in text_of(answer):
                wrong.append(f"{name}: {addressed[name]} {answer.status_code} shows")
    assert not wrong, "\n".join(wrong)
