"""Pages of the frame. Each reads through selectors and hands plain rows to its template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.dashboard import selectors
from kschedweb.dashboard.context import THEMES
from kschedweb.dashboard.scope import scope_of

if TYPE_CHECKING:
    from django.http import HttpRequest


@require_safe
@requires(Action.VIEW)
def overview(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/overview.html", {})


@require_safe
@requires(Action.VIEW)
def nodes(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/overview.html", {})


@require_safe
@requires(Action.VIEW)
def pods(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/overview.html", {})


@require_safe
@requires(Action.VIEW)
def search(request: HttpRequest) -> HttpResponse:
    """Everything whose name holds the words: the palette asks for the fragment, a person for the page."""
    words = request.GET.get("q", "").strip()[:100]
    found = selectors.search(scope_of(request), words, request.user.role)
    template = "dashboard/results.html" if request.htmx else "dashboard/search.html"
    return render(request, template, {"words": words, "groups": found, "total": sum(len(items) for _, items in found)})


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in a cookie; the server renders the next page with it, so nothing flashes."""
    chosen = request.POST.get("theme", "")
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = "/"
    response = HttpResponseRedirect(target)
    if chosen in THEMES:
        # The theme switch of the page writes it too, so it cannot be HttpOnly; it is no secret.
        response.set_cookie("theme", chosen, max_age=365 * 24 * 3600, secure=request.is_secure(), samesite="Lax")
    return response
