"""The permission checks of pages and REST. There are no others."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django_htmx.http import trigger_client_event
from rest_framework.exceptions import PermissionDenied as RestPermissionDenied
from rest_framework.permissions import BasePermission

from kschedweb.accounts import reach, tokens
from kschedweb.accounts.factors import required as factors
from kschedweb.accounts.roles import Action, HasCreator, may_change

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase
    from rest_framework.request import Request
    from rest_framework.views import APIView

    from kschedweb.accounts.models import User

Row = TypeVar("Row", bound=HasCreator)
View = Callable[..., "HttpResponseBase"]


def requires(
    action: Action,
    *,
    with_temporary_password: bool = False,
    without_second_factor: bool = False,
    site: bool | None = None,
    in_part: bool = False,
) -> Callable[[View], View]:
    """Decorate a page: log in first, then 403 unless the person's role, or a grant, allows ``action``.

    Actions on the whole ``site`` need the role in all clusters. By default, only administering does.

    A page that can show a part of a cluster sets ``in_part``; other pages show whole clusters only.

    A person with a temporary password is sent to change it, except from pages ``with_temporary_password``. Then a
    person whose role needs a second factor, and who has shown none, is sent to add one, except from pages
    ``without_second_factor``.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            user = request.user
            if not user.is_authenticated:
                return _redirect_to(
                    request, 401, redirect_to_login(_return_address(request)).url, "Your session has ended.", "Log in"
                )
            # Before the second factor: a password that somebody else has seen must be replaced first.
            if user.must_change_password and not with_temporary_password:
                return _redirect_to(
                    request, 403, _to_password(request), "Your password is temporary.", "Choose your own"
                )
            if not (with_temporary_password or without_second_factor) and factors.is_factor_missing(request, user):
                return _redirect_to(request, 403, reverse("mfa_index"), "Your role needs a second factor.", "Add one")
            require_action(user, action, site, in_part=in_part)
            return view(request, *args, **kwargs)

        guarded_view.action_required = action  # type: ignore[attr-defined]
        return guarded_view

    return decorate


def require_action(
    user: User, action: Action, site: bool | None = None, refusal: str = "", *, in_part: bool = False
) -> None:
    """Raise PermissionDenied unless ``user`` may do ``action`` somewhere; for the whole ``site``, everywhere.

    From here on the request finds only rows in clusters where they may do it.
    """
    if not _is_allowed(user, action, site):
        raise PermissionDenied(refusal or f"Your role does not allow you to {action.label}.")
    reach.set_looker(user, action, in_part)


def _is_allowed(user: User, action: Action, site: bool | None) -> bool:
    whole = action == Action.ADMINISTER if site is None else site
    return user.everywhere(action) if whole and action != Action.VIEW else user.may(action)


def require_owner(user: User, row: Row, noun: str, verb: str = "change") -> Row:
    """Return ``row``, called ``noun``. Raises PermissionDenied unless ``user`` made it, or is an admin."""
    if not may_change(user, row):
        raise PermissionDenied(f"Only who started {noun}, or an admin, may {verb} it.")
    return row


def _return_address(request: HttpRequest) -> str:
    """Return the page to come back to. If only a part of a page was requested, that is the whole page."""
    if getattr(request, "htmx", False):
        return request.htmx.current_url_abs_path or "/"  # type: ignore[attr-defined, no-any-return]
    return request.get_full_path()


def _to_password(request: HttpRequest) -> str:
    """Return the address at which a password is chosen. Only reading leads back: a write is not repeated afterwards."""
    if request.method not in ("GET", "HEAD"):
        return reverse("password")
    return reverse("password", query={"next": _return_address(request)})


def _redirect_to(request: HttpRequest, status: int, address: str, detail: str, action: str) -> HttpResponse:
    """Redirect a page to ``address``. A part of a page gets an empty answer, so that the page keeps what is typed
    there.

    frame/live.ts shows ``detail`` and a link named ``action``.
    """
    if not getattr(request, "htmx", False):
        return redirect(address)
    params = {"detail": detail, "action": action, "address": address}
    return trigger_client_event(HttpResponse(status=status), "refused", params)


def action_of(view: Any, method: str | None) -> Action:
    """Return the action that ``method`` on an API view needs: its ``action_required`` (one, or a dict by method).

    By default reading needs VIEW and writing EDIT. ``of_site`` of the view says whether writing needs the role in all
    clusters.
    """
    required = getattr(view, "action_required", None)
    if isinstance(required, dict):
        required = required.get(method_read(method))
    return required or (Action.VIEW if method_read(method) == "GET" else Action.EDIT)


def method_read(method: str | None) -> str:
    """Return ``method``, or GET for any method that only reads."""
    return "GET" if method in (None, "GET", "HEAD", "OPTIONS") else str(method)


class RolePermission(BasePermission):
    """The same rules for REST. A token's scope limits its owner's role.

    A view's ``in_part`` names the methods that can show a part of a cluster.
    """

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        if not (user and user.is_authenticated):
            return False
        if user.must_change_password:
            raise RestPermissionDenied("Your password is a temporary one: log in and choose your own first.")
        # Programs cannot show a factor: their token is made in a session that did.
        if request.auth is None and factors.is_factor_missing(request._request, user):
            raise RestPermissionDenied("Your role needs a second factor: log in and add one first.")
        required = action_of(view, request.method)
        allowed = _is_allowed(user, required, getattr(view, "of_site", None))
        token: Any = request.auth
        if token is not None and not (token.allows(required) and allowed):
            tokens.record_denial(token, f"scope {token.scope}, role {user.role}, asked to {required}")
        if token is not None and not token.allows(required):
            raise RestPermissionDenied(f"The scope of this token does not allow to {required.label}.")
        if not allowed:
            raise RestPermissionDenied(f"Your role does not allow you to {required.label}.")
        reach.set_looker(user, required, method_read(request.method) in getattr(view, "in_part", ()))
        return True
