"""Access by role: every page and every REST operation that the resolver knows, about rows that exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from kschedweb.accounts.permissions import action_of
from kschedweb.accounts.roles import ALLOWED, Action, Role
from tests.support.routes import METHODS, SCHEMA, Choose, Route, routes
from tests.support.tiers import NIGHTLY

if TYPE_CHECKING:
    from django.http import HttpResponse

pytestmark = pytest.mark.django_db

# Open to everybody, by their names; each further one is a decision. (The theme is a cookie of the browser's own.)
PUBLIC = {"login", "logout", "theme", "language", "words", "livez", "readyz"}
# Ways in: for who is not logged in yet, or an identity provider.
PUBLIC |= {"account_login", "mfa_authenticate", "password-forgotten", "password-mailed", "password-renew"}
PUBLIC |= {"provider-begin", "provider-callback", "provider-backchannel"}
# POSTs that viewers may send. They change nothing: a question whose words are too long for an address.
QUESTIONS = {
    "admission", "autoscaling", "autoscaling-groups",
    "capacity-buffer", "capacity-change", "capacity-drain", "capacity-fit", "capacity-gangs", "capacity-nodes",
    "descheduling", "load-aware-curves", "mcp", "plans",
    "policies-validate", "policy-convert", "policy-validate", "scenario-validate",
}  # fmt: skip
# A viewer makes and revokes tokens of their own, and says how pages look to them.
OWN_ROUTES = {"tokens", "token", "display", "list", "views", "view"}
# Rows of others are not there; or a page is about a question in its address.
PRIVATE = {
    *("token", "token-revoke", "approvals-news", "pod-message", "overview-reasons", "resolved", "descheduling-try"),
    *("view", "view-change", "view-delete"),
    *("capacity-names", "node", "node-place"),  # of the cluster that a query names
    *("mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_remove_webauthn"),
}


def pages(choose: Choose) -> list[Route]:
    return [route for route in routes(choose) if not route.is_rest and route.name not in PUBLIC]


def operations(choose: Choose) -> list[tuple[Route, str]]:
    return [(route, method) for route in routes(choose) if route.is_rest for method in route.methods]


def should_tell(role: str, action: str) -> bool:
    """Return whether this role's visit counts: of several allowed roles only the lowest performs it, in every run."""
    may = [value for value in Role.values if action in ALLOWED[value]]
    return NIGHTLY or role not in may or role == may[0]


@contextmanager
def undone() -> Iterator[None]:
    """Whatever is written or counted inside is taken back: the next one finds the same rows."""
    cache.clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def call(client: Client, address: str) -> Any:
    """GET, or POST where that is the only way in, with the cookies that this client came with."""
    cookies = copy(client.cookies)
    answer = client.get(address)
    answer = client.post(address) if answer.status_code == 405 else answer
    client.cookies = cookies
    return answer


def is_refused(answer: HttpResponse) -> bool:
    """Return whether the role was refused, whatever the row says about who may change it."""
    return answer.status_code == 403 and b"Your role does not allow you to " in answer.content


def is_wrong(answer: HttpResponse, route: Route, allowed: bool) -> bool:
    """Return whether an allowed role finds nothing there, or another one is not refused."""
    if not allowed:
        return not is_refused(answer)
    is_lost = answer.status_code == 404 and route.name not in PRIVATE
    return is_lost or is_refused(answer) or answer.status_code == 401 or answer.status_code >= 500


def test_every_view_names_its_action() -> None:
    all_routes = routes()
    assert len(all_routes) > 200
    for route in all_routes:
        if not route.is_rest:
            names_action = route.name in PUBLIC or getattr(route.view, "action_required", None) in Action.values
            assert names_action, f"{route}: decorate it with @requires(Action.X)"
        elif route.name != SCHEMA:
            required = getattr(route.view.cls, "action_required", None)
            assert required, f"{route}: name it in action_required"
            if isinstance(required, dict):
                action_by_method = {method.upper(): required.get(method.upper()) for method in METHODS}
                assert all(
                    action_by_method[m.upper()] in Action.values for m in METHODS if hasattr(route.view.cls, m)
                ), route


def test_everybody_may_look() -> None:
    assert all(Action.VIEW in ALLOWED[role] for role in set(Role.values) - {Role.NONE})


def test_what_changes_something_is_not_for_viewers() -> None:
    for route in routes():
        if route.is_rest and route.name not in OWN_ROUTES | QUESTIONS:
            for method in set(route.methods) - {"get"}:
                assert action_of(route.view.cls, method.upper()) != Action.VIEW, f"{method} {route}"


def test_strangers_are_sent_to_the_login_and_rest_is_closed_to_them(choose: Choose) -> None:
    client = Client()
    for route in pages(choose):
        with undone():
            answer = call(client, route.address)
        assert (answer.status_code, answer.get("Location", "")[:7]) == (302, "/login/"), route
    caller = APIClient()
    for route, method in operations(choose):
        with undone():
            answer = caller.generic(method.upper(), route.address)
        assert answer.status_code == 401, f"{method} {route}"
        assert answer["Content-Type"] == "application/problem+json", f"{method} {route}"


@pytest.mark.parametrize("role", Role.values)
def test_a_page_opens_for_the_roles_of_its_action_only(
    client_as: Callable[[str], Client], choose: Choose, role: str
) -> None:
    problems, client = [], client_as(role)
    for route in pages(choose):
        action = route.view.action_required
        if not should_tell(role, action):
            continue
        with undone():
            answer = call(client, route.address)
            if is_wrong(answer, route, action in ALLOWED[role]):
                problems.append(f"{route} {answer.status_code}")
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("role", Role.values)
def test_a_rest_operation_is_open_to_the_roles_of_its_action_only(
    api_as: Callable[[str], APIClient], choose: Choose, role: str
) -> None:
    problems, client = [], api_as(role)
    for route, method in operations(choose):
        action = action_of(route.view.cls, method.upper())
        if not should_tell(role, action):
            continue
        with undone():
            answer = client.generic(method.upper(), route.address)
            if is_wrong(answer, route, action in ALLOWED[role]):
                problems.append(f"{method} {route} {answer.status_code}")
    assert not problems, "\n".join(problems)
