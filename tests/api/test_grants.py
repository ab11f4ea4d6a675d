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
HERE_CLUSTER = "hier"
WRITE = re.compile(r"(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) \"(\w+)\"")


@pytest.fixture(scope="module")
def seeded_rows(rows_of_module: Callable[[], AbstractContextManager[None]], sandbox_address: str) -> Iterator[Seed]:
    """Everything there is, in clusters beyond; and a cluster here."""
    at_work = {"SANDBOX_SERVER": sandbox_address, "SANDBOX_TOKEN": TOKEN}
    with rows_of_module(), override_settings(CLUSTER_ALLOWLIST=WEBHOOK_HOSTS, **at_work):
        clusters.sandbox_connect()
        seed_rows = create_seed(MARK)
        for cluster in Cluster.objects.exclude(name__startswith=MARK):
            Cluster.objects.filter(pk=cluster.pk).update(name=f"{MARK}{cluster.name}")
        seed.imported(HERE_CLUSTER, seed.cluster(3, 10), seed_rows.admin)
        yield seed_rows


def get_granted_user(role: str) -> User:
    """Somebody with ``role`` in the cluster here, and nothing else."""
    user, new = User.objects.get_or_create(username=f"{role}-here", defaults={"role": Role.NONE})
    if new:
        cluster = Cluster.objects.get(name=HERE_CLUSTER)
        Grant.objects.create(user=user, role=role, scope=GrantScope.CLUSTER, cluster=cluster.pk)
    return user


def page_client(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def token_client(user: User) -> APIClient:
    scope = max((action for action in Action if user.may(action)), key=list(Action).index)
    _, key = accounts.token_create(user=user, name="walk", scope=scope, days=1)
    client = APIClient(raise_request_exception=False)
    client.default_format = "json"
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


@dataclass
class Call:
    method: str
    address: str
    is_beyond: bool  # whether the address is of an object beyond
    body: dict[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.address}"


def body_about(seed: Seed) -> dict[str, Any]:
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


def ids_beyond(seed: Seed) -> set[str]:
    """Of objects beyond."""
    keys = [
        seed.scenario, seed.run, seed.comparison, seed.sweep, seed.recording, seed.gate, seed.moves, seed.tried_change,
        seed.capacity, seed.evicting, seed.planned, seed.fleet, seed.autoscaling, *seed.decided, seed.decision.pk,
        seed.decision.scheduler_id, seed.approval.pk, seed.webhook.pk, seed.snapshot.pk, seed.job.pk,
        seed.experiment.pk, seed.grant, seed.cluster.pk,
    ]  # fmt: skip
    return set(map(str, keys))


def named_in_paths(seed: Seed) -> set[str]:
    """Names that identify an object beyond the grants, as they appear in addresses."""
    return {MARK, "/sandbox/"} | ids_beyond(seed)


def list_calls(seed: Seed, choose: Choose, *, over_rest: bool) -> list[Call]:
    """Every route, with every method that it has; and the pages and resources with queries.

    A body names what lies beyond, in every run, and nothing, in the nightly one.
    """
    marks, body, requests_asked = named_in_paths(seed), body_about(seed), list[tuple[str, str, dict[str, Any] | None]]()
    for route in routes(choose):
        if route.is_rest == over_rest and route.name != "logout":
            for method in route.methods if over_rest else ("get", "post"):
                bodies = [None] if method == "get" else [body, {}] if NIGHTLY else [body]
                requests_asked += [(method, route.address, body) for body in bodies]
    known_addresses = {address for method, address, _ in requests_asked if method == "get"}
    further_addresses = (addresses.resources(seed.places) if over_rest else addresses.pages(seed.places)).values()
    requests_asked += [("get", address, None) for address in further_addresses if address not in known_addresses]
    return [
        Call(method, address, any(mark in address for mark in marks), request_body)
        for method, address, request_body in requests_asked
    ]


@contextmanager
def undone() -> Iterator[None]:
    cache.clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def send_call(client: Any, call: Call) -> HttpResponse:
    cookies = copy(client.cookies)
    if isinstance(client, APIClient):
        answer = client.generic(
            call.method.upper(), call.address, json.dumps(call.body or {}), content_type="application/json"
        )
    else:
        answer = client.get(call.address) if call.method == "get" else client.post(call.address, call.body or {})
    client.cookies = cookies
    response: HttpResponse = answer
    return response


def text_of(answer: Any) -> str:
    if getattr(answer, "is_async", False):
        return ""
    raw = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return raw.decode(errors="replace") + str(dict(answer.items()))


Models = frozenset["type[Model]"]


def covered_models() -> Models:
    return frozenset(model for model in apps.get_models() if isinstance(model._default_manager, Covered))


class UnreachableRows:
    """Counts of each covered model's rows that a person does not reach."""

    def __init__(self, person: User) -> None:
        self.person = person
        self.before = self.count_by_model(covered_models())

    def count_by_model(self, models: Models) -> dict[type[Model], int]:
        with unrestricted():
            reach = User.objects.get(pk=self.person.pk).reach(Action.VIEW)
            assert reach is not None
            counts = {}
            for model in models:
                rows = model._default_manager.get_queryset()
                assert isinstance(rows, CoveredQuerySet)
                counts[model] = rows.count() - rows.restrict_to(reach).count()
            return counts

    def changed_by(self, call: Callable[[], HttpResponse]) -> tuple[HttpResponse, bool]:
        """The answer of ``call``, and whether it changed these numbers; only tables that it wrote are counted anew."""
        tables: set[str] = set()

        def note(execute: Any, sql: str, *arguments: Any) -> Any:
            tables.update(WRITE.findall(sql))
            return execute(sql, *arguments)

        with connection.execute_wrapper(note):
            answer = call()
        written_models = frozenset(model for model in self.before if model._meta.db_table in tables)
        return answer, bool(written_models) and any(
            self.before[model] != now for model, now in self.count_by_model(written_models).items()
        )


def find_leak(call: Call, answer: Any, beyond: set[str]) -> str:
    """Describe the answer's leak or effect beyond the person's grants; "" if there is none."""
    sent_text = unquote(call.address) + json.dumps(call.body or {})
    if answer.status_code >= 500:
        return f"{answer.status_code}"
    text = text_of(answer)
    marked_words = {word.strip("\"'<>.,;:()[]{}&|\\/") for word in text.replace("&quot;", " ").split() if MARK in word}
    names = [MARK + name for name in ("a", "b", "bound", "pending", "fits", "seed", "watched", "recorded", "sandbox")]
    leaks = [name for name in names if any(name in word for word in marked_words) and name not in sent_text]
    if leaks:
        return f"{answer.status_code} names {leaks} in {sorted(marked_words)[:3]}"
    if leaked_ids := [key for key in beyond if key in text and key not in sent_text]:
        return f"{answer.status_code} has the ids {leaked_ids}"
    if call.is_beyond and answer.status_code < 400 and "?" not in call.address:
        return f"{answer.status_code}"
    refusal = re.search(r"Your role does not allow you to |The scope of this token does not allow", text)
    hidden = answer.status_code in (404, 405) or refusal
    if call.is_beyond and call.method == "get" and "?" not in call.address and not hidden:
        return f"{answer.status_code}, not 404"
    return ""


@pytest.mark.parametrize("over_rest", [False, True], ids=["pages", "rest"])
# What an admin is refused is refused for want of a grant.
@pytest.mark.parametrize("role", one_of(Role.ADMIN, Role.VIEWER, Role.EDITOR, Role.APPROVER))
def test_people_of_one_cluster_find_nothing_of_another(seed: Seed, choose: Choose, role: str, over_rest: bool) -> None:
    user, problems = get_granted_user(role), []
    client = token_client(user) if over_rest else page_client(user)
    calls_asked, foreign_ids = list_calls(seed, choose, over_rest=over_rest), ids_beyond(seed)
    beyond = UnreachableRows(user)
    for call in calls_asked:
        with undone():
            answer, has_changed = beyond.changed_by(partial(send_call, client, call))
            if problem := find_leak(call, answer, foreign_ids):
                problems.append(f"{call}: {problem}")
            if has_changed and call.method != "get":
                problems.append(f"{call}: changes what lies beyond")
    print(f"\n{len(calls_asked)} requests as {role}")
    assert len(calls_asked) > 200
    assert not problems, "\n".join(problems)


def test_whoever_has_a_role_in_all_clusters_finds_what_others_do_not(seed: Seed, choose: Choose) -> None:
    """The resources of the walk lead somewhere, and its names are told to who may read them.

    That pages do is what test_access.py says.
    """
    user = User.objects.create_user(username="everywhere", password="everywhere-password", role=Role.ADMIN)
    looked_at, answered, naming, client = 0, 0, 0, token_client(user)
    for call in list_calls(seed, choose, over_rest=True):
        if call.is_beyond and call.method == "get":
            with undone():
                answer = send_call(client, call)
                looked_at += 1
                answered += answer.status_code == 200
                naming += MARK in text_of(answer)
    assert answered > 0.9 * looked_at > 80
    assert naming > 30
