"""The pages of webhooks: endpoints, their last deliveries, and sending a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.live.approvals.webhooks import selectors, services
from kschedweb.live.approvals.webhooks.forms import EndpointForm, form_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors
from kschedweb.web.pagination import page_shown

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.live.approvals.models import Endpoint


@require_safe
@requires(Action.ADMINISTER)
def list_endpoints(request: PageRequest) -> HttpResponse:
    return render(request, "live/approvals/webhooks.html", {"endpoints": selectors.endpoint_list()})


@never_cache
@requires(Action.ADMINISTER)
def create_endpoint(request: PageRequest) -> HttpResponse:
    """Create an endpoint and show its secret, this once."""
    form = EndpointForm(request.POST or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                row, secret = services.endpoint_save(user=request.user, **form.cleaned_data)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
            else:
                return _render_endpoint(request, row, form_of(row), secret=secret)
    return render(request, "live/approvals/webhook_new.html", {"form": form}, status=status)


@never_cache
@requires(Action.ADMINISTER)
def show_endpoint(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    """Show one endpoint: its settings and its last messages."""
    row = selectors.endpoint_get(endpoint_id)
    if request.method != "POST":
        return _render_endpoint(request, row, form_of(row))
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            services.endpoint_save(user=request.user, endpoint=row, **form.cleaned_data)
        except ApplicationError as error:
            row.refresh_from_db()
            add_errors(form, error)
        else:
            messages.success(request, gettext("Saved."))
            return redirect("webhook", row.pk)
    return _render_endpoint(request, row, form, status=400)


def _render_endpoint(
    request: PageRequest, row: Endpoint, form: EndpointForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    page = page_shown(request, selectors.delivery_list(row))
    context = {"endpoint": row, "form": form, "page": page, "secret": secret}
    return render(request, "live/approvals/webhook.html", context, status=status)


@require_POST
@requires(Action.ADMINISTER)
def send_test(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    services.endpoint_test(user=request.user, endpoint=selectors.endpoint_get(endpoint_id))
    messages.info(request, gettext("Test sent. Reload this page in a moment to see the result."))
    return redirect("webhook", endpoint_id)


@never_cache
@require_POST
@requires(Action.ADMINISTER)
def renew_secret(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    row = selectors.endpoint_get(endpoint_id)
    try:
        secret = services.secret_renew(user=request.user, endpoint=row)
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("webhook", endpoint_id)
    return _render_endpoint(request, row, form_of(row), secret=secret)


@requires(Action.ADMINISTER)
def delete_endpoint(request: PageRequest, endpoint_id: UUID) -> HttpResponse:
    row = selectors.endpoint_get(endpoint_id)
    if request.method != "POST":
        return render(request, "live/approvals/webhook_delete.html", {"endpoint": row})
    services.endpoint_delete(user=request.user, endpoint=row)
    messages.success(request, gettext("%(row)s deleted.") % {"row": row.name})
    return redirect("webhooks")
