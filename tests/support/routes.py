"""Every address that the resolver knows, so that no test forgets one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponseNotAllowed
from django.test import RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from kschedweb.web import moved

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
    def rest(self) -> bool:
        return hasattr(self.view, "cls") and self.name != SCHEMA_PAGE

    @property
    def methods(self) -> list[str]:
        """Of a REST view: what it answers."""
        view = self.view.cls
        return [method for method in METHODS if hasattr(view, method) and method in view.http_method_names]

    @property
    def opened(self) -> bool:
        """Whether somebody GETs it for what is there, and not for a part, a file or a stream."""
        if self.rest:
            return "get" in self.methods and self.name != SCHEMA and not hasattr(self.view.cls, "is_part")
        if hasattr(self.view, "is_part") or self.name == SCHEMA_PAGE:
            return False
        return not isinstance(self.view(_asked(self.address)), HttpResponseNotAllowed)

    def __str__(self) -> str:
        return self.address


def _asked(address: str) -> HttpRequest:
    """A stranger's GET, which each page answers with the way to the login."""
    request = RequestFactory().get(address)
    request.user = AnonymousUser()
    request.htmx = False  # type: ignore[attr-defined]
    request.session = SessionStore()
    return request


def nothing(address: str, kind: str, name: str) -> object:
    """Leads nowhere: enough to ask a route about itself."""
    return {"uuid": "00000000-0000-0000-0000-000000000007", "int": 7}.get(kind, "nothing")


def routes(choose: Choose = nothing) -> list[Route]:
    """All but the addresses that only lead on to where their pages are now."""
    return _below(get_resolver().url_patterns, "/", choose)


def _below(patterns: list[Any], prefix: str, choose: Choose) -> list[Route]:
    found: list[Route] = []
    for pattern in patterns:
        address = _filled(pattern, prefix, choose)
        if isinstance(pattern, URLResolver):
            found += _below(pattern.url_patterns, address, choose)
        elif isinstance(pattern, URLPattern) and pattern.callback.__module__ != moved.__name__:
            found.append(Route(pattern.name or "", address, pattern.callback))
    return found


def _filled(pattern: URLPattern | URLResolver, prefix: str, choose: Choose) -> str:
    route = prefix + str(pattern.pattern)
    for name, converter in pattern.pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower().replace("string", "str")
        value = str(choose(route, kind, name))
        route = route.replace(f"<{kind}:{name}>", value).replace(f"<{name}>", value)
    assert "<" not in route, route
    return route
