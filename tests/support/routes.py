"""Every address that the resolver knows, so that no test forgets one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponseNotAllowed
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from kschedweb.web import redirects
from tests.support.addresses import split_queued

if TYPE_CHECKING:
    from tests.support.addresses import Places

METHODS = ("get", "post", "put", "patch", "delete")
# drf-spectacular brings the schema, and settings give it RolePermission; its page is for people.
SCHEMA = "schema"
SCHEMA_PAGE = "schema-page"
# Fills a parameter of a route: the address so far, its converter, its name.
Choose = Callable[[str, str, str], object]


@dataclass(frozen=True)
class Route:
    name: str
    address: str
    view: Any = field(repr=False)

    @property
    def is_rest(self) -> bool:
        return hasattr(self.view, "cls") and self.name != SCHEMA_PAGE

    @property
    def methods(self) -> list[str]:
        """Of a REST view: what it answers."""
        view = self.view.cls
        return [method for method in METHODS if hasattr(view, method) and method in view.http_method_names]

    @property
    def opened(self) -> bool:
        """Return whether somebody GETs it for its own sake, and not for a part, a file or a stream."""
        if self.is_rest:
            return "get" in self.methods and self.name != SCHEMA and not hasattr(self.view.cls, "is_part")
        if hasattr(self.view, "is_part") or self.name == SCHEMA_PAGE:
            return False
        return not isinstance(self.view(_request(self.address)), HttpResponseNotAllowed)

    def __str__(self) -> str:
        return self.address


def _request(address: str) -> HttpRequest:
    """A stranger's GET, which each page answers with the way to the login."""
    request = RequestFactory().get(address)
    request.user = AnonymousUser()
    request.htmx = False  # type: ignore[attr-defined]
    request.session = SessionStore()
    return request


def nothing(address: str, kind: str, name: str) -> object:
    """Leads nowhere: enough to ask a route about itself."""
    return {"uuid": "00000000-0000-0000-0000-000000000007", "int": 7}.get(kind, "nothing")


def leading_to(at: Places, **values: object) -> Choose:
    """Parameters that lead to what exists: by the part of the address before them, else by their name."""
    namespace, pod = at.stuck.split("/")
    below: dict[str, object] = {
        "allowed-addresses": "192.0.2.9",
        "answers": at.capacity,
        "approvals": at.approval,
        "autoscaling": at.autoscaling,
        "classic": "GeneralPredicates",
        "command": "pause",
        "comparisons": at.comparison,
        "decisions": at.live_decision,
        "dry-runs": at.evicting,
        "experiments": at.experiment,
        "files": "nodes.csv",
        "gate": at.gate,
        "grants": at.grant,
        "jobs": at.job,
        "lists": "pods",
        "live": at.live,
        "migration": at.moves,
        "moves": at.moves,
        "objects": "Pod",
        "passkeys": 7,
        "people": at.user,
        "plans": at.planned,
        "policies": at.policy,
        "preview": at.policy,
        "questions": at.decided,
        "names": "workloads",
        "nodes": at.node,
        "recordings": at.recording,
        "repositories": at.repository,
        "revisions": 1,
        "runs": at.run,
        "scenarios": at.scenario,
        "snapshots": at.snapshot,
        "sweeps": at.sweep,
        "tokens": at.token,
        "trials": at.fleet,
        "trying": at.tried_change,
        "users": at.user,
        "views": at.view,
        "webhooks": at.webhook,
    }
    by_name = {"name": at.cluster, "cluster": at.cluster, "namespace": namespace, "pod": pod, "node": at.node} | values
    if at.queued:
        by_name["queue"], workload = split_queued(at)[1:]
        by_name["workload"] = workload.partition("/")[2]

    def real(address: str, kind: str, name: str) -> object:
        parts = address.partition("<")[0].strip("/").split("/")
        if "runs" in parts and name == "pod":
            return at.run_pod.partition("/")[2]
        if address.endswith("/explained/"):
            return at.ready
        return below.get(parts[-1], by_name.get(name))

    return real


def routes(choose: Choose = nothing) -> list[Route]:
    """All but the addresses that only lead on to where their pages are now."""
    return _below(get_resolver().url_patterns, "/", choose)


def _below(patterns: list[Any], prefix: str, choose: Choose) -> list[Route]:
    routes: list[Route] = []
    for pattern in patterns:
        address = _filled(pattern, prefix, choose)
        if isinstance(pattern, URLResolver):
            routes += _below(pattern.url_patterns, address, choose)
        elif isinstance(pattern, URLPattern) and pattern.callback.__module__ != redirects.__name__:
            routes.append(Route(pattern.name or "", address, pattern.callback))
    return routes


def _filled(pattern: URLPattern | URLResolver, prefix: str, choose: Choose) -> str:
    route = prefix + str(pattern.pattern)
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
        value = str(choose(route, kind, name))
        route = route.replace(f"<{kind}:{name}>", value).replace(f"<{name}>", value)
    assert "<" not in route, route
    return route
