"""People of one cluster against objects of another: every page, every REST operation, with ids that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client, override_settings
from rest_framework.test import APIClient

from kschedweb.accounts import services as accounts
from kschedweb.accounts.covered import Covered, CoveredQuerySet
from kschedweb.accounts.models import Grant, Scope, User
from kschedweb.accounts.reach import everything
from kschedweb.accounts.roles import Action, Role
from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster
from tests.api.conftest import WEBHOOK_HOSTS, Seed, made
from tests.support import addresses, seed
from tests.support.routes import METHODS, Choose, routes
from tests.support.sandbox import TOKEN
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from django.http import HttpResponse

pytestmark = pytest.mark.django_db

MARK = "zinnober-"  # of all that lies beyond
HERE = "hier"
WRITE = re.compile(r"(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) \"(\w+)\"")


@pytest.fixture(scope="module")
def seeded(rows_of_module: Callable[[], AbstractContextManager[None]], sandbox_address: str) -> Iterator[Seed]:
    """Everything there is, in clusters beyond; and a cluster here."""
    at_work = {"SANDBOX_SERVER": sandbox_address, "SANDBOX_TOKEN": TOKEN}
    with rows_of_module(), override_settings(CLUSTER_ALLOWLIST=WEBHOOK_HOSTS, **at_work):
        clusters.sandbox_connect()
        found = made(MARK)
        for one in Cluster.objects.exclude(name__startswith=MARK):
            Cluster.objects.filter(pk=one.pk).update(name=f"{MARK}{one.name}")
        seed.imported(HERE, seed.cluster(3, 10), found.admin)
        yield found


def granted(role: str) -> User:
    """Somebody with ``role`` in the cluster here, and nothing else."""
    found, new = User.objects.get_or_create(username=f"{role}-here", defaults={"role": Role.NONE})
    if new:
        cluster = Cluster.objects.get(name=HERE)
        Grant.objects.create(user=found, role=role, scope=Scope.CLUSTER, cluster=cluster.pk)
    return found


def page_client(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def token_client(user: User) -> APIClient:
    scope = max((one for one in Action if user.may(one)), key=list(Action).index)
    _, key = accounts.token_create(user=user, name="walk", scope=scope, days=1)
    client = APIClient(raise_request_exception=False)
    client.default_format = "json"
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


@dataclass
class Call:
    method: str
    address: str
    about: bool  # whether the address is of an object beyond
    body: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.address}"


def told(seed: Seed) -> dict[str, Any]:
    """A body that names what lies beyond in every way that some call or form asks for."""
    revision = {"policy": "default", "revision": 1}
    return {
        "cluster": seed.cluster.name,
        "clusters": [seed.cluster.name],
        "snapshot": str(seed.snapshot.pk),
        "scenario": seed.scenario,
        "scenario_revision": 1,
        "on": f"cluster:{seed.cluster.name}",
        "run": seed.run,
        "runs": [seed.run],
        "comparison": seed.comparison,
        "recording": seed.recording,
        "sweep": seed.sweep,
        "job": str(seed.job.pk),
        "pod": f"default/{MARK}pending",
        "node": f"{MARK}a",
        "nodes": [f"{MARK}a"],
        "scheduler": str(seed.decision.scheduler_id),
        "requests": [str(seed.approval.pk)],
        "verdict": "approve",
        "reason": "why not",
        "policy": "default",
        "policies": ["default"],
        "baseline": "default",
        "instead": "default",
        "seeds": [1],
        "name": "walked",
        "scheduler_name": "walked",
        "mode": "off",
        "requests_cpu": "1",
        "cpu": "1",
        "memory": "1Gi",
        "document": f"apiVersion: kschedweb/v1\nkind: Scenario\nname: Walked\nbase:\n  snapshot: {seed.snapshot.pk}\n",
        "base": revision,
    }


def ids(seed: Seed) -> set[str]:
    """Of objects beyond."""
    found = [
        seed.scenario, seed.run, seed.comparison, seed.sweep, seed.recording, seed.gate, seed.moves, seed.tried,
        seed.capacity, seed.evicting, seed.planned, seed.fleet, seed.autoscaling, *seed.decided, seed.decision.pk,
        seed.decision.scheduler_id, seed.approval.pk, seed.webhook.pk, seed.snapshot.pk, seed.job.pk,
        seed.experiment.pk, seed.grant, seed.cluster.pk,
    ]  # fmt: skip
    return set(map(str, found))


def named_in_paths(seed: Seed) -> set[str]:
    """What tells an address of an object beyond."""
    return {MARK, "/sandbox/"} | ids(seed)


def calls(seed: Seed, choose: Choose, *, rest: bool) -> list[Call]:
    """Every route, with every method; and the pages and resources with queries."""
    marks, body, found = named_in_paths(seed), told(seed), []
    for route in routes(choose):
        if route.rest != rest or route.name == "logout":
            continue
        about = any(mark in route.address for mark in marks)
        for method in METHODS if rest else ("get", "post"):
            found.append(Call(method, route.address, about, None if method == "get" else body))
            if method != "get":
                found.append(Call(method, route.address, about, {}))
    at = places(seed)
    for address in (addresses.resources(at) if rest else addresses.pages(at)).values():
        found.append(Call("get", address, any(mark in address for mark in marks)))
    return found


def places(seed: Seed) -> addresses.Places:
    return addresses.Places(
        cluster=seed.cluster.name, fitting=f"default/{MARK}fits", stuck=f"default/{MARK}pending",
        job=str(seed.job.pk), experiment=str(seed.experiment.pk), scenario=seed.scenario, groups=seed.cluster.name,
        run=seed.run, comparison=seed.comparison, gate=seed.gate, moves=seed.moves, tried=seed.tried,
        fleet=seed.fleet, capacity=seed.capacity, evicting=seed.evicting, planned=seed.planned,
        autoscaling=seed.autoscaling, decided=seed.decided[0], effect=seed.decided[1], sweep=seed.sweep,
        recording=seed.recording, node=f"{MARK}a", snapshot=str(seed.snapshot.pk), token=str(seed.token.pk),
        live=str(seed.decision.scheduler_id), live_decision=str(seed.decision.pk), approval=str(seed.approval.pk),
        webhook=str(seed.webhook.pk), sandbox="default/web-0",
    )  # fmt: skip


@contextmanager
def undone() -> Iterator[None]:
    cache.clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def sent(client: Any, call: Call) -> HttpResponse:
    cookies = copy(client.cookies)
    if isinstance(client, APIClient):
        answer = client.generic(
            call.method.upper(), call.address, json.dumps(call.body or {}), content_type="application/json"
        )
    else:
        answer = client.get(call.address) if call.method == "get" else client.post(call.address, call.body or {})
    client.cookies = cookies
    found: HttpResponse = answer
    return found


def text_of(answer: Any) -> str:
    if getattr(answer, "is_async", False):
        return ""
    raw = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return raw.decode(errors="replace") + str(dict(answer.items()))


def beyond(reach_of: User, tables: Collection[str] | None = None) -> dict[str, int]:
    """How many rows of each covered model, or of those in ``tables``, this person does not reach."""
    with everything():
        reach = User.objects.get(pk=reach_of.pk).reach(Action.VIEW)
        assert reach is not None
        counts = {}
        for model in apps.get_models():
            table = model._meta.db_table
            if isinstance(model._default_manager, Covered) and (tables is None or table in tables):
                rows = model._default_manager.get_queryset()
                assert isinstance(rows, CoveredQuerySet)
                counts[table] = rows.count() - rows.within(reach).count()
        return counts


@contextmanager
def written() -> Iterator[set[str]]:
    """The tables that are written to meanwhile; Django deletes dependent rows by statements of their own."""
    tables: set[str] = set()

    def watch(execute: Callable[..., Any], sql: str, *given: Any) -> Any:
        if change := WRITE.match(sql):
            tables.add(change[1])
        return execute(sql, *given)

    with connection.execute_wrapper(watch):
        yield tables


def changed_beyond(user: User, before: dict[str, int], tables: set[str]) -> bool:
    after = beyond(user, tables)
    return after != {table: before[table] for table in after}


def wrong(call: Call, answer: Any, beyond: set[str]) -> str:
    """What this answer tells or does beyond the person's grants; "" for nothing."""
    given = unquote(call.address) + json.dumps(call.body or {})
    if answer.status_code >= 500:
        return f"{answer.status_code}"
    text = text_of(answer)
    said = {word.strip("\"'<>.,;:()[]{}&|\\/") for word in text.replace("&quot;", " ").split() if MARK in word}
    names = [MARK + name for name in ("a", "b", "bound", "pending", "fits", "seed", "watched", "recorded", "sandbox")]
    leaks = [name for name in names if any(name in word for word in said) and name not in given]
    if leaks:
        return f"{answer.status_code} names {leaks} in {sorted(said)[:3]}"
    if told := [one for one in beyond if one in text and one not in given]:
        return f"{answer.status_code} has the ids {told}"
    if call.about and answer.status_code < 400 and "?" not in call.address:
        return f"{answer.status_code}"
    refused = re.search(r"Your role does not allow you to |The scope of this token does not allow", text)
    hidden = answer.status_code in (404, 405) or refused
    if call.about and call.method == "get" and "?" not in call.address and not hidden:
        return f"{answer.status_code}, not 404"
    return ""


@pytest.mark.parametrize("rest", [False, True], ids=["pages", "rest"])
# What an admin is refused is refused for want of a grant.
@pytest.mark.parametrize("role", one_of(Role.ADMIN, Role.VIEWER, Role.EDITOR, Role.APPROVER))
def test_people_of_one_cluster_find_nothing_of_another(seed: Seed, choose: Choose, role: str, rest: bool) -> None:
    user, found = granted(role), []
    client = token_client(user) if rest else page_client(user)
    asked = calls(seed, choose, rest=rest)
    before = beyond(user)
    for call in asked:
        with undone():
            with written() as tables:
                answer = sent(client, call)
            if problem := wrong(call, answer, ids(seed)):
                found.append(f"{call}: {problem}")
            if call.method != "get" and answer.status_code < 400 and changed_beyond(user, before, tables):
                found.append(f"{call}: changes what lies beyond")
    print(f"\n{len(asked)} requests as {role}")
    assert len(asked) > 350
    assert not found, "\n".join(found)


def test_whoever_has_a_role_in_all_clusters_finds_what_others_do_not(seed: Seed, choose: Choose) -> None:
    """The addresses of the walk lead somewhere, and its names are told to who may read them."""
    user = User.objects.create_user(username="everywhere", password="everywhere-password", role=Role.ADMIN)
    looked, found, named = 0, 0, 0
    for rest, client in ((False, page_client(user)), (True, token_client(user))):
        for call in calls(seed, choose, rest=rest):
            if call.about and call.method == "get":
                with undone():
                    answer = sent(client, call)
                    looked += answer.status_code != 405
                    found += answer.status_code == 200
                    named += MARK in text_of(answer)
    assert found > 0.9 * looked > 200
    assert named > 100
