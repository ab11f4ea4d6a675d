"""People of one cluster against objects of another: every page, every REST operation, with ids that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client, override_settings
from rest_framework.test import APIClient

from kschedweb.accounts import services as accounts
from kschedweb.accounts.models import Grant, GrantScope, User
from kschedweb.accounts.reach import unrestricted
from kschedweb.accounts.roles import Action, Role
from kschedweb.accounts.row_access import Covered, CoveredQuerySet
from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster
from tests.api.conftest import WEBHOOK_HOSTS, Seed, create_seed
from tests.support import addresses, seed
from tests.support.routes import Choose, routes
from tests.support.sandbox import TOKEN
from tests.support.tiers import NIGHTLY, one_of

if TYPE_CHECKING:
    from django.db.models import Model
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
        found = create_seed(MARK)
        for cluster in Cluster.objects.exclude(name__startswith=MARK):
            Cluster.objects.filter(pk=cluster.pk).update(name=f"{MARK}{cluster.name}")
        seed.imported(HERE, seed.cluster(3, 10), found.admin)
        yield found


def granted(role: str) -> User:
    """Somebody with ``role`` in the cluster here, and nothing else."""
    found, new = User.objects.get_or_create(username=f"{role}-here", defaults={"role": Role.NONE})
    if new:
        cluster = Cluster.objects.get(name=HERE)
        Grant.objects.create(user=found, role=role, scope=GrantScope.CLUSTER, cluster=cluster.pk)
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
        seed.scenario, seed.run, seed.comparison, seed.sweep, seed.recording, seed.gate, seed.moves, seed.tried_change,
        seed.capacity, seed.evicting, seed.planned, seed.fleet, seed.autoscaling, *seed.decided, seed.decision.pk,
        seed.decision.scheduler_id, seed.approval.pk, seed.webhook.pk, seed.snapshot.pk, seed.job.pk,
        seed.experiment.pk, seed.grant, seed.cluster.pk,
    ]  # fmt: skip
    return set(map(str, found))


def named_in_paths(seed: Seed) -> set[str]:
    """What tells an address of an object beyond."""
    return {MARK, "/sandbox/"} | ids(seed)


def calls(seed: Seed, choose: Choose, *, rest: bool) -> list[Call]:
    """Every route, with every method that it has; and the pages and resources with queries.

    A body names what lies beyond, in every run, and nothing, in the nightly one.
    """
    marks, body, asked = named_in_paths(seed), told(seed), list[tuple[str, str, dict[str, Any] | None]]()
    for route in routes(choose):
        if route.is_rest == rest and route.name != "logout":
            for method in route.methods if rest else ("get", "post"):
                bodies = [None] if method == "get" else [body, {}] if NIGHTLY else [body]
                asked += [(method, route.address, body) for body in bodies]
    known = {address for method, address, _ in asked if method == "get"}
    more = (addresses.resources(seed.places) if rest else addresses.pages(seed.places)).values()
    asked += [("get", address, None) for address in more if address not in known]
    return [Call(method, address, any(mark in address for mark in marks), one) for method, address, one in asked]


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


Models = frozenset["type[Model]"]


def covered() -> Models:
    return frozenset(model for model in apps.get_models() if isinstance(model._default_manager, Covered))


class Beyond:
    """How many rows of each covered model a person does not reach."""

    def __init__(self, person: User) -> None:
        self.person = person
        self.before = self.counted(covered())

    def counted(self, models: Models) -> dict[type[Model], int]:
        with unrestricted():
            reach = User.objects.get(pk=self.person.pk).reach(Action.VIEW)
            assert reach is not None
            found = {}
            for model in models:
                rows = model._default_manager.get_queryset()
                assert isinstance(rows, CoveredQuerySet)
                found[model] = rows.count() - rows.restrict_to(reach).count()
            return found

    def changed_by(self, call: Callable[[], HttpResponse]) -> tuple[HttpResponse, bool]:
        """The answer of ``call``, and whether it changed these numbers; only tables that it wrote are counted anew."""
        tables: set[str] = set()

        def note(execute: Any, sql: str, *more: Any) -> Any:
            tables.update(WRITE.findall(sql))
            return execute(sql, *more)

        with connection.execute_wrapper(note):
            answer = call()
        written = frozenset(model for model in self.before if model._meta.db_table in tables)
        return answer, bool(written) and any(self.before[model] != now for model, now in self.counted(written).items())


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
    asked, others = calls(seed, choose, rest=rest), ids(seed)
    beyond = Beyond(user)
    for call in asked:
        with undone():
            answer, changed = beyond.changed_by(partial(sent, client, call))
            if problem := wrong(call, answer, others):
                found.append(f"{call}: {problem}")
            if changed and call.method != "get":
                found.append(f"{call}: changes what lies beyond")
    print(f"\n{len(asked)} requests as {role}")
    assert len(asked) > 200
    assert not found, "\n".join(found)


def test_whoever_has_a_role_in_all_clusters_finds_what_others_do_not(seed: Seed, choose: Choose) -> None:
    """The resources of the walk lead somewhere, and its names are told to who may read them.

    That pages do is what test_access.py says.
    """
    user = User.objects.create_user(username="everywhere", password="everywhere-password", role=Role.ADMIN)
    looked, found, named, client = 0, 0, 0, token_client(user)
    for call in calls(seed, choose, rest=True):
        if call.about and call.method == "get":
            with undone():
                answer = sent(client, call)
                looked += 1
                found += answer.status_code == 200
                named += MARK in text_of(answer)
    assert found > 0.9 * looked > 80
    assert named > 30
