"""People of one namespace on every page and on every REST operation: no answer names a pod of another namespace.

Everything there is was seeded for pods of others, whose names are unmistakable, in clusters whose nodes, names and
snapshots these people do see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from django.test import override_settings

from kschedweb.accounts.models import Grant, Scope, User
from kschedweb.accounts.roles import Role
from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster, Snapshot
from kschedweb.live.approvals.models import ApprovalRequest
from kschedweb.live.schedulers.models import LiveDecision
from tests.api.conftest import WEBHOOK_HOSTS, Seed, made, pod
from tests.api.test_grants import beyond, calls, page_client, places, sent, text_of, token_client, undone
from tests.support import seed_groups
from tests.support.routes import Choose
from tests.support.sandbox import TOKEN
from tests.support.seed import sized

if TYPE_CHECKING:
    from django.http import HttpResponse

    from tests.api.test_grants import Call

pytestmark = pytest.mark.django_db

MARK = "zinnober-"
OURS = "unsere"  # their namespace, and the beginning of the names of its pods
# What names pods of others, their owners and groups; nodes and clusters begin with MARK too, and are seen.
FOREIGN = tuple(MARK + name for name in ("bound", "pending", "fits", "held", "web", "gang"))


def objects() -> list[dict[str, Any]]:
    """Pods of theirs, and more of others: owned, in a group, and such as would be evicted for one of theirs."""
    ours, others = {"namespace": OURS}, {"namespace": "fremd"}
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
        found = made(MARK, more)
        sized(found.cluster.name, more)
        LiveDecision.objects.update(name=f"{MARK}held")
        ApprovalRequest.objects.update(name=f"{MARK}held")
        yield found


def granted(role: str) -> User:
    """Somebody with ``role`` in their namespace of all clusters, and nothing else."""
    found, new = User.objects.get_or_create(username=f"{role}-of-one", defaults={"role": Role.NONE})
    if new:
        Grant.objects.create(user=found, role=role, scope=Scope.ALL, namespaces=[OURS])
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
@pytest.mark.parametrize("role", [Role.ADMIN, Role.VIEWER])
def test_nobody_learns_of_pods_of_another_namespace(seed: Seed, choose: Choose, role: str, rest: bool) -> None:
    user, found = granted(role), []
    client = token_client(user) if rest else page_client(user)
    asked = [one for one in calls(seed, choose, rest=rest) if role == Role.ADMIN or one.method == "get"]
    before = beyond(user)
    for call in asked:
        with undone():
            answer = sent(client, call)
            if problem := wrong(call, answer):
                found.append(f"{call}: {problem}")
            if call.method != "get" and answer.status_code < 400 and beyond(user) != before:
                found.append(f"{call}: changes what lies beyond")
    print(f"\n{len(asked)} requests as {role}")
    assert not found, "\n".join(found)
