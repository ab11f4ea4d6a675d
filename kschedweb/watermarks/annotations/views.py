"""The page of a cluster's annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.clusters.selectors import cluster_get
from kschedweb.clusters.services import CONNECTED
from kschedweb.watermarks.annotations import selectors, services
from kschedweb.watermarks.annotations.forms import AnnotatingForm
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster

PLACES_SHOWN = 20
FAILURES_SHOWN = 20


@require_safe
@requires(Action.VIEW)
def annotations_page(request: PageRequest) -> HttpResponse:
    """Show what is written to the cluster, and findings on its annotations."""
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "annotations"})
    return _render_page(request, cluster, AnnotatingForm(instance=selectors.annotating_get(cluster)))


@require_POST
@requires(Action.ADMINISTER, site=False)
def annotations_change(request: PageRequest, cluster: str) -> HttpResponse:
    """Save which annotations are written."""
    cluster_row = cluster_get(cluster)
    form = AnnotatingForm(request.POST, instance=selectors.annotating_get(cluster_row))
    if form.is_valid() and (answer := _save_form(request, cluster_row, form)):
        return answer
    return _render_page(request, cluster_row, form)


def _render_page(request: PageRequest, cluster: Cluster, form: AnnotatingForm) -> HttpResponse:
    annotating = selectors.annotating_get(cluster)
    lint = selectors.lint_get(cluster, annotating.time_zone)
    context = {
        "cluster": cluster,
        "connected": cluster.source in CONNECTED,
        "annotating": annotating,
        "missing": selectors.permissions_missing(annotating),
        "failed": annotating.outcome.get("failed", [])[:FAILURES_SHOWN],
        "lint": lint,
        "older": bool(lint and selectors.written_since(annotating, lint.taken_at)),
        "places_shown": PLACES_SHOWN,
        "form": form,
    }
    return render(request, "watermarks/annotations.html", context, status=400 if form.errors else 200)


def _save_form(request: PageRequest, cluster: Cluster, form: AnnotatingForm) -> HttpResponse | None:
    try:
        annotating, job = services.annotating_save(user=request.user, cluster=cluster, **form.cleaned_data)
    except ApplicationError as error:
        add_errors(form, error)
        return None
    if job:
        messages.success(request, gettext("Saved. Annotations that were written are being removed."))
        return redirect("job", job.pk)
    messages.success(
        request,
        gettext("Saved. Figures are written after the next collection.")
        if annotating.writes
        else gettext("Saved. Nothing is written."),
    )
    return redirect(reverse("usage-annotations", query={"cluster": cluster.name}))


@require_POST
@requires(Action.ADMINISTER, site=False)
def annotations_write(request: PageRequest, cluster: str) -> HttpResponse:
    return redirect("job", services.write_start(user=request.user, cluster=cluster_get(cluster)).pk)
