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
from kschedweb.watermarks.container_book import ContainerUse, book_add
from kschedweb.watermarks.figures import WORKLOAD, WORKLOAD_STATISTICS, Figure
from kschedweb.watermarks.inventory import inventory_make
from kschedweb.watermarks.models import ContainerBook, Resolution
from kschedweb.watermarks.storage import samples_store
from tests.api.conftest import WEBHOOK_HOSTS, Seed, create_seed, pod
from tests.api.test_grants import (
    Call,
    UnreachableRows,
    list_calls,
    page_client,
    send_call,
    text_of,
    token_client,
    undone,
)
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


def pods_of_both() -> list[dict[str, Any]]:
    """Pods of theirs, and more of others: owned, in a group, and such as would be evicted for one of theirs."""
    ours: dict[str, Any] = {"namespace": OURS}
    foreign: dict[str, Any] = {"namespace": "fremd"}
    return [
        pod(f"{OURS}-bound-0", "500m", f"{MARK}a", owner=f"{OURS}-bound", **ours),
        pod(f"{OURS}-pending", "100", **ours),
        pod(f"{OURS}-urgent", "3", priority=1000, **ours),
        pod(f"{OURS}-fits", "100m", group=f"{OURS}-gang", **ours),
        seed_groups.group(f"{OURS}-gang", 1, **ours),
        pod(f"{MARK}web-0", "1", f"{MARK}a", owner=f"{MARK}web", **foreign),
        pod(f"{MARK}web-1", "100m", group=f"{MARK}gang", **foreign),
        seed_groups.group(f"{MARK}gang", 1, **foreign),
        pod(f"{MARK}web-2", "lots", **foreign),  # cannot be read, and is a problem of the snapshot
    ]


@pytest.fixture(scope="module")
def seeded_rows(rows_of_module: Callable[[], AbstractContextManager[None]], sandbox_address: str) -> Iterator[Seed]:
    at_work = {"SANDBOX_SERVER": sandbox_address, "SANDBOX_TOKEN": TOKEN}
    with rows_of_module(), override_settings(CLUSTER_ALLOWLIST=WEBHOOK_HOSTS, **at_work):
        clusters.sandbox_connect()
        objects_added = pods_of_both()
        seed_rows = create_seed(MARK, objects_added)
        store_use(seed_rows.cluster, objects_added)
        LiveDecision.objects.update(name=f"{MARK}held")
        ApprovalRequest.objects.update(name=f"{MARK}held")
        theirs = seed_approvals.request(seed_rows.decision.scheduler, f"{OURS}-held")
        ApprovalRequest.objects.filter(pk=theirs.pk).update(namespace=OURS)
        LiveDecision.objects.filter(name=f"{OURS}-held").update(namespace=OURS)
        yield seed_rows


def store_use(cluster: Cluster, objects_used: list[dict[str, Any]]) -> None:
    """Two hours of what containers and workloads of both used."""
    last = int(timezone.now().timestamp()) // 300 * 300 - 300  # A book of the same time would be taken for known.
    amounts = {"cpu": 0.02, "memory": 64.0 * 2**20}
    rows = {(OURS, f"{OURS}-bound-0", "c"): amounts, ("fremd", f"{MARK}web-0", "c"): amounts}
    ContainerBook.objects.filter(pk=cluster.pk).delete()
    times = range(last - 7200 + 300, last + 1, 300)
    book_add(
        cluster=cluster,
        inventory=inventory_make(objects_used),
        use=ContainerUse.from_rows((at, rows) for at in times),
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


def their_places(seed: Seed) -> Places:
    """Addresses about pods of the person's namespace."""
    approval = ApprovalRequest.objects.get(namespace=OURS)
    return replace(
        seed.places,
        fitting=f"{OURS}/{OURS}-fits",
        stuck=f"{OURS}/{OURS}-urgent",
        sized=f"{OURS}/StatefulSet/{OURS}-bound",
        approval=str(approval.pk),
        live_decision=str(LiveDecision.objects.get(namespace=OURS).pk),
    )


def addresses_asked(seed: Seed, *, over_rest: bool) -> dict[str, str]:
    """Addresses about their pods, by name."""
    at = their_places(seed)
    name = seed.cluster.name
    if over_rest:
        return addresses.resources(at) | {
            "podgroup:theirs": f"/api/v1/clusters/{name}/podgroups/{OURS}/{OURS}-gang/",
            "podgroups": f"/api/v1/clusters/{name}/podgroups/",
            "snapshot:theirs": f"/api/v1/clusters/{name}/snapshots/{seed.snapshot.pk}/",
            "pods:then": f"/api/v1/clusters/{name}/pods/?snapshot={seed.snapshot.pk}&limit=500",
            "events:all": f"/api/v1/clusters/{name}/events/?limit=500",
        }
    by_name = addresses.pages(at) | {
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
    files = {f"{key}:{form}": f"{address}{'&' if '?' in address else '?'}format={form}"
             for key, address in by_name.items() if gives_files(address) for form in ("csv", "json")}  # fmt: skip
    return by_name | files


def gives_files(address: str) -> bool:
    """Return whether the page's module reads ``?format=``; others would answer with the same page again."""
    module = sys.modules[resolve(address.partition("?")[0]).func.__module__]
    return '.get("format"' in inspect.getsource(module)


def get_granted_user(role: str) -> User:
    """Somebody with ``role`` in their namespace of all clusters, and nothing else."""
    user, new = User.objects.get_or_create(username=f"{role}-of-one", defaults={"role": Role.NONE})
    if new:
        Grant.objects.create(user=user, role=role, scope=GrantScope.ALL, namespaces=[OURS])
    return user


def find_leak(call: Call, answer: HttpResponse) -> str:
    """Describe the answer's leak or effect beyond the person's namespace; "" if there is none."""
    if answer.status_code >= 500:
        return f"{answer.status_code}"
    sent_text, text = unquote(call.address) + json.dumps(call.body or {}), unquote(text_of(answer))
    if leaks := [name for name in FOREIGN if name in text and name not in sent_text]:
        at = text.index(leaks[0])
        return f"{answer.status_code} names {leaks}: {text[max(at - 80, 0) : at + 60]!r}"
    foreign_names = [name for name in FOREIGN if name in unquote(call.address).partition("?")[0]]
    if foreign_names and answer.status_code < 400:
        return f"{answer.status_code} about {foreign_names}"
    return ""


# An editor or approver does less than an admin, and reads the same.
@pytest.mark.parametrize("over_rest", [False, True], ids=["pages", "rest"])
@pytest.mark.parametrize("role", one_of(Role.ADMIN, Role.VIEWER))
def test_nobody_learns_of_pods_of_another_namespace(seed: Seed, choose: Choose, role: str, over_rest: bool) -> None:
    user, problems = get_granted_user(role), []
    client = token_client(user) if over_rest else page_client(user)
    calls_asked = [
        call for call in list_calls(seed, choose, over_rest=over_rest) if role == Role.ADMIN or call.method == "get"
    ]
    known_addresses = {asked_call.address for asked_call in calls_asked if asked_call.method == "get"}
    calls_asked += [
        Call("get", asked_call, False)
        for asked_call in addresses_asked(seed, over_rest=over_rest).values()
        if asked_call not in known_addresses
    ]
    beyond = UnreachableRows(user)
    for call in calls_asked:
        with undone():
            answer, has_changed = beyond.changed_by(partial(send_call, client, call))
            if problem := find_leak(call, answer):
                problems.append(f"{call}: {problem}")
            if has_changed and call.method != "get":
                problems.append(f"{call}: changes what lies beyond")
    print(f"\n{len(calls_asked)} requests as {role}")
    assert not problems, "\n".join(problems)


def test_it_is_a_long_walk(seed: Seed, choose: Choose) -> None:
    call_counts = [len(list_calls(seed, choose, over_rest=over_rest)) for over_rest in (False, True)]
    of_theirs = [len(addresses_asked(seed, over_rest=over_rest)) for over_rest in (False, True)]
    assert sum(call_counts) + sum(of_theirs) > 1_200


def test_what_they_do_with_pods_of_theirs_is_done(seed: Seed) -> None:
    client, name = token_client(get_granted_user(Role.ADMIN)), seed.cluster.name
    mine, foreign_request = ApprovalRequest.objects.get(namespace=OURS), seed.approval
    for address, body, status in (
        (f"/api/v1/approvals/{mine.pk}/approve/", {}, 200),
        (f"/api/v1/approvals/{foreign_request.pk}/approve/", {}, 404),
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
    "pods", "pods:then", "events:all", "decision", "decisions-together", "podgroups", "podgroup:theirs", "approvals",
    "approval", "watermark-workloads", "cost", "right-sizing", "right-sizing-export", "cluster-map-pods",
    "live-decision",
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
REJECTED = {
    "autoscaling-groups",
    "capacity-change",
    "capacity-drain",
    "descheduling",
    "usage-source",
    "plans",
    "cluster-flight",
}


@pytest.mark.parametrize("over_rest", [False, True], ids=["pages", "rest"])
def test_what_they_work_with_answers(seed: Seed, choose: Choose, over_rest: bool) -> None:
    user = get_granted_user(Role.VIEWER)
    client, addresses_by_name, wrong = (
        token_client(user) if over_rest else page_client(user),
        addresses_asked(seed, over_rest=over_rest),
        [],
    )
    for name in sorted((REST_WORKS | REST_PLAIN) if over_rest else (WORKS | PLAIN)):
        with undone():
            answer = send_call(client, Call("get", addresses_by_name[name], False))
            text = text_of(answer)
        if answer.status_code != 200 or (f"{OURS}-" not in text and name in (REST_WORKS if over_rest else WORKS)):
            wrong.append(f"{name}: {addresses_by_name[name]} {answer.status_code}")
    for name in () if over_rest else REJECTED:
        with undone():
            answer = send_call(client, Call("get", addresses_by_name[name], False))
            if answer.status_code == 200 and "data-left-out" not in text_of(answer):
                wrong.append(f"{name}: {addresses_by_name[name]} {answer.status_code} shows")
    assert not wrong, "\n".join(wrong)
