"""Sets each request's user for grants before any view runs, so that even error pages show nothing beyond them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.accounts.reach import Reach, as_looker, reach_of
from kschedweb.accounts.roles import Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse


class ReachMiddleware:
    """Sets the person of the session. For programs, RolePermission sets the owner of the token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        def find_reach() -> Reach | None:
            return reach_of(request.user, Action.VIEW, False) if request.user.is_authenticated else None

        with as_looker(find_reach):
            return self.get_response(request)
