"""The forms of a list's columns and views, and the page of all views of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts import services as people
from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.lists import selectors, services
from kschedweb.lists.addresses import address_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import run_and_notify

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.web.tables import Table


@require_POST
@requires(Action.VIEW)
def columns_save(request: PageRequest, table: str) -> HttpResponse:
    """Show the ticked columns from now on. The density is that of all lists."""
    listed = selectors.table_get(table)
    shown_keys = set(request.POST.getlist("shown"))

    def save_choices() -> None:
        services.columns_hide(
            user=request.user, table=listed, hidden=[k for k in listed.optional if k not in shown_keys]
        )
        people.user_display(user=request.user, density=request.POST.get("density", request.user.density))

    if run_and_notify(request, save_choices, gettext("Your columns are saved.")):
        return _redirect_back(request, listed, view=None)
    return _redirect_back(request, listed)


@require_POST
@requires(Action.VIEW)
def view_save(request: PageRequest, table: str) -> HttpResponse:
    """Save what the page shows under a name, replacing a view of this name."""
    listed = selectors.table_get(table)
    query = urlsplit(request.POST.get("next", "")).query[:4000]
    shown_columns = request.POST.get("columns", "")
    try:
        view = services.view_put(
            user=request.user,
            table=listed,
            name=request.POST.get("name", ""),
            filters=listed.view_parameters(query),
            hidden=[key for key in shown_columns.split(",") if key],
        )
    except ApplicationError as error:
        messages.error(request, " ".join(item["message"] for item in error.errors) or error.detail)
        return _redirect_back(request, listed)
    messages.success(request, gettext("View %(view)s saved.") % {"view": view.name})
    return _redirect_back(request, listed, view=view.pk)


@require_safe
@requires(Action.VIEW)
def views_list(request: PageRequest) -> HttpResponse:
    """Show all views of the person, to open, rename and delete."""
    views = [
        (view, address_of(view), table.described(view.filters), table.column_labels(view.hidden))
        for view in selectors.view_list(request.user)
        if (table := view.list)
    ]
    return render(request, "lists/views.html", {"views": views})


@require_POST
@requires(Action.VIEW)
def view_change(request: PageRequest, view_id: int) -> HttpResponse:
    """Rename a view."""
    view = selectors.view_get(request.user, view_id)
    before, table, name = view.name, selectors.table_get(view.table), request.POST.get("name", "")
    message = gettext("View %(before)s is now called %(name)s.") % {"before": before, "name": name.strip()}
    run_and_notify(request, lambda: services.view_change(view=view, table=table, name=name), message)
    return redirect("views")


@require_POST
@requires(Action.VIEW)
def view_delete(request: PageRequest, view_id: int) -> HttpResponse:
    view = selectors.view_get(request.user, view_id)
    services.view_delete(view=view)
    messages.success(request, gettext("View %(view)s deleted.") % {"view": view.name})
    return redirect("views")


def _redirect_back(request: HttpRequest, table: Table, **changes: int | None) -> HttpResponse:
    """Redirect to the page that the form was on, with ``changes`` of its query."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = reverse(table.page) if table.page else "/"
    parts = urlsplit(target)
    parameters = [(name, value) for name, value in parse_qsl(parts.query) if name not in changes]
    query = urlencode([*parameters, *((name, str(value)) for name, value in changes.items() if value is not None)])
    return HttpResponseRedirect(parts._replace(query=query).geturl())
