"""The one place where pages and REST ask whether somebody may do something."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission

from kschedweb.accounts.roles import Action, may

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from rest_framework.request import Request
    from rest_framework.views import APIView

View = Callable[..., "HttpResponse"]


def requires(action: Action) -> Callable[[View], View]:
    """Decorate a page: log in first, then 403 unless the person's role allows ``action``."""

    def decorate(view: View) -> View:
        @login_required
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not may(request.user.role, action):
                raise PermissionDenied(f"Your role does not allow you to {action.label}.")
            return view(request, *args, **kwargs)

        return guarded

    return decorate


class RolePermission(BasePermission):
    """REST: a view names its action in ``action_required`` (one for all methods, or a dict by method).

    Reading asks for VIEW and writing for EDIT where a view says nothing. A token's scope limits its owner's role.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        if not (user and user.is_authenticated):
            return False
        required = getattr(view, "action_required", None)
        if isinstance(required, dict):
            required = required.get(request.method)
        if required is None:
            required = Action.VIEW if request.method in ("GET", "HEAD", "OPTIONS") else Action.EDIT
        token = request.auth
        if token is not None and hasattr(token, "scope") and not token.allows(required):
            return False
        return may(user.role, required)
