"""Who may open what: every page and every REST operation that the resolver knows, so that none is forgotten."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.test import APIClient

from kschedweb.accounts.permissions import action_of
from kschedweb.accounts.roles import ALLOWED, Action, Role

pytestmark = pytest.mark.django_db

# Open to everybody, by their names; each further one is a decision. (The theme is a cookie of the browser's own.)
PUBLIC = {"login", "logout", "theme", "livez", "readyz"}
# drf-spectacular brings the schema, and settings give it RolePermission; its page is for people.
SCHEMA = "schema"
SCHEMA_PAGE = "schema-page"
# POSTs that viewers may send. They change nothing: a question whose words are too long for an address.
QUESTIONS = {
    "capacity-drain", "capacity-fit", "capacity-nodes",
    "load-aware-curves",
    "policies-validate", "policy-convert", "policy-validate", "scenario-validate",
}  # fmt: skip
METHODS = ("get", "post", "put", "patch", "delete")
SAMPLES = {"uuid": uuid.UUID(int=7), "int": 7, "slug": "nothing", "str": "nothing", "path": "nothing"}


@dataclass(frozen=True)
class Route:
    name: str
    address: str
    view: Any = field(repr=False)

    def __str__(self) -> str:
        return self.address


def anything(address: str, kind: str, name: str) -> object:
    return SAMPLES[kind]


def routes(choose: Callable[[str, str, str], object] = anything, patterns=None, prefix: str = "/") -> list[Route]:
    """Every route; ``choose(address so far, converter, parameter)`` fills its parameters."""
    found: list[Route] = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = filled(pattern, prefix, choose)
        if isinstance(pattern, URLResolver):
            found += routes(choose, pattern.url_patterns, address)
        elif isinstance(pattern, URLPattern):
            found.append(Route(pattern.name or "", address, pattern.callback))
    return found


def filled(pattern: URLPattern | URLResolver, prefix: str, choose: Callable[[str, str, str], object]) -> str:
    route = prefix + str(pattern.pattern)
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
        value = str(choose(route, kind, name))
        route = route.replace(f"<{kind}:{name}>", value).replace(f"<{name}>", value)
    assert "<" not in route, route
    return route


ALL = routes()
API = [route for route in ALL if hasattr(route.view, "cls") and route.name != SCHEMA_PAGE]
PAGES = [route for route in ALL if route not in API]
OPERATIONS = [
    (route, method)
    for route in API
    for method in METHODS
    if hasattr(route.view.cls, method) and method in route.view.cls.http_method_names
]


def ids(value: Any) -> str:
    return str(value)


def call(client: Client, address: str):
    """GET, or POST where that is the only way in."""
    answer = client.get(address)
    return client.post(address) if answer.status_code == 405 else answer


def test_there_is_something_to_check():
    assert {"overview", "clusters", "nodes", "pods", "policies", "jobs", "people"} <= {route.name for route in PAGES}
    assert len(OPERATIONS) > 20


@pytest.mark.parametrize("route", [route for route in PAGES if route.name not in PUBLIC], ids=ids)
def test_a_page_names_its_action_and_sends_strangers_to_the_login(route):
    assert getattr(route.view, "action_required", None) in Action.values, "decorate it with @requires(Action.X)"
    answer = call(Client(), route.address)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/")


@pytest.mark.parametrize(
    ("role", "route"),
    list(itertools.product(Role.values, [route for route in PAGES if route.name not in PUBLIC])),
    ids=ids,
)
def test_a_page_opens_for_the_roles_of_its_action_only(client_as, role, route):
    client = client_as(role)
    client.raise_request_exception = True
    status = call(client, route.address).status_code
    if route.view.action_required in ALLOWED[role]:
        assert status not in (401, 403)
        assert status < 500
    else:
        assert status == 403


@pytest.mark.parametrize("route", [route for route in API if route.name != SCHEMA], ids=ids)
def test_a_rest_view_names_its_action(route):
    required = getattr(route.view.cls, "action_required", None)
    assert required, "name it in action_required"
    if isinstance(required, dict):
        for method in METHODS:
            if hasattr(route.view.cls, method):
                assert required.get(method.upper()) in Action.values


@pytest.mark.parametrize(("route", "method"), OPERATIONS, ids=ids)
def test_a_rest_operation_is_closed_to_strangers(route, method):
    answer = APIClient().generic(method.upper(), route.address)
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(("role", "operation"), list(itertools.product(Role.values, OPERATIONS)), ids=ids)
def test_a_rest_operation_is_open_to_the_roles_of_its_action_only(api_as, role, operation):
    route, method = operation
    status = api_as(role).generic(method.upper(), route.address).status_code
    if action_of(route.view.cls, method.upper()) in ALLOWED[role]:
        assert status not in (401, 403)
        assert status < 500
    else:
        assert status == 403


@pytest.mark.parametrize(("route", "method"), [o for o in OPERATIONS if o[1] != "get"], ids=ids)
def test_a_rest_operation_that_changes_something_is_not_for_viewers(route, method):
    own = {"tokens", "token"}  # A viewer makes and revokes tokens of their own.
    if route.name not in own | QUESTIONS:
        assert action_of(route.view.cls, method.upper()) != Action.VIEW
