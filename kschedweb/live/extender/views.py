"""The pages that say how to make a stock kube-scheduler call this site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.live.extender import selectors, services
from kschedweb.live.extender.configuration import PLACEHOLDER, extender_yaml, list_warnings
from kschedweb.live.extender.forms import EndpointForm
from kschedweb.live.schedulers.selectors import live_get, live_list
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.live.schedulers.models import LiveScheduler


@require_safe
@requires(Action.VIEW)
def list_extenders(request: PageRequest) -> HttpResponse:
    """Show every live scheduler that answers kube-scheduler."""
    return render(request, "live/extender/list.html", {"extenders": selectors.list_extenders(live_list())})


@requires(Action.ADMINISTER, site=False)
def show_extender(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Show the configuration to paste, and its settings."""
    live = live_get(live_id)
    endpoint, configuration = selectors.endpoint_of(live), selectors.configuration_of(live)
    form = EndpointForm(request.POST or None, endpoint, selectors.choosable_plugins(configuration))
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                services.endpoint_change(user=request.user, live=live, **form.changes)
                messages.success(request, gettext("Saved. If the configuration changed, paste it again."))
                return redirect("live-extender", live.pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    return _render_extender(request, live, form, status=status)


@require_POST
@requires(Action.ADMINISTER, site=False)
def create_secret(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Create a secret and show it, this once."""
    live = live_get(live_id)
    secret = services.endpoint_secret_make(user=request.user, live=live)
    configuration = selectors.configuration_of(live)
    response = _render_extender(
        request,
        live,
        EndpointForm(None, selectors.endpoint_of(live), selectors.choosable_plugins(configuration)),
        secret,
    )
    response["Cache-Control"] = "no-store"
    return response


def _render_extender(
    request: PageRequest, live: LiveScheduler, form: EndpointForm, secret: str = "", status: int = 200
) -> HttpResponse:
    base = request.build_absolute_uri("/").rstrip("/")
    endpoint, configuration = selectors.endpoint_of(live), selectors.configuration_of(live)
    context: dict[str, object] = {
        "live": live,
        "release": configuration.release,
        "form": form,
        "endpoint": endpoint,
        "secret": secret,
        "placeholder": PLACEHOLDER,
        "document": extender_yaml(live, base, secret or PLACEHOLDER),
        "warnings": list_warnings(live, base),
        "plugins": selectors.plugins_in_force(endpoint, configuration),
    }
    return render(request, "live/extender/extender.html", context, status=status)
