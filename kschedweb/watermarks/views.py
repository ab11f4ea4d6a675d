"""The page of a cluster's source of figures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.connecting.addresses import CLUSTERS
from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.clusters.selectors import cluster_get
from kschedweb.watermarks import selectors, services
from kschedweb.watermarks.annotations.selectors import annotating_get, lint_get
from kschedweb.watermarks.forms import SourceForm, form_of, with_preset
from kschedweb.watermarks.presets import PRESETS
from kschedweb.watermarks.report_text import origin_words, report_rows
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster
    from kschedweb.watermarks.collection import CollectionReport


@never_cache
@require_safe
@requires(Action.VIEW)
def source_page(request: PageRequest) -> HttpResponse:
    """Show the settings of the source, and the last collection."""
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "usage"})
    return _render_source(request, cluster, form_of(selectors.source_get(cluster)))


@never_cache
@sensitive_post_parameters()
@require_POST
@requires(Action.ADMINISTER, site=False)
def source_change(request: PageRequest, cluster: str) -> HttpResponse:
    """Fill in a preset, test the settings, or save them."""
    cluster_row = cluster_get(cluster)
    do = request.POST.get("do", "")
    if do in PRESETS:
        return _render_source(request, cluster_row, with_preset(request.POST.dict(), PRESETS[do]))
    form = SourceForm(request.POST)
    if not form.is_valid():
        return _render_source(request, cluster_row, form, status=400)
    report: CollectionReport | None = None
    try:
        if do == "test":
            report = services.source_test(user=request.user, cluster=cluster_row, settings=form.settings)
        else:
            services.source_save(
                user=request.user, cluster=cluster_row, settings=form.settings, force=form.cleaned_data["force"]
            )
            messages.success(
                request,
                gettext("Saved. Usage data of %(found)s is collected from now on.") % {"found": cluster_row.name},
            )
            return redirect(_source_address(cluster_row))
    except ApplicationError as error:
        form.add_service_errors(error)
    if report is not None:
        form.show_report(report.as_json())
        if report.failed:
            detail = gettext("The source does not answer as the settings say.")
            form.add_service_errors(ApplicationError(detail, errors=services.report_errors(report)))
    return _render_source(request, cluster_row, form, report=report, status=400 if form.errors else 200)


@require_POST
@requires(Action.EDIT)
def source_run(request: PageRequest, cluster: str) -> HttpResponse:
    """Start a collection."""
    cluster_row = cluster_get(cluster)
    services.run_ask(user=request.user, cluster=cluster_row)
    messages.info(request, gettext("Collection started. Reload this page in a moment."))
    return redirect(_source_address(cluster_row))


def _source_address(cluster: Cluster) -> str:
    return reverse("usage-source", query={"cluster": cluster.name})


def _render_source(
    request: PageRequest,
    cluster: Cluster,
    form: SourceForm,
    *,
    report: CollectionReport | None = None,
    status: int = 200,
) -> HttpResponse:
    stored, annotating = selectors.source_get(cluster), annotating_get(cluster)
    context: dict[str, object] = {
        "cluster": cluster,
        "source": stored,
        "form": form,
        "fresh": (fresh := selectors.load_freshness(cluster, time.time())),
        "origin_words": origin_words(fresh.origin),
        "rows": report_rows(stored.report),
        "test": report,
        "annotating": annotating,
        "lint": lint_get(cluster, annotating.time_zone),
        "presets": PRESETS.values(),
        "allowed": CLUSTERS.entries,
    }
    return render(request, "watermarks/source.html", context, status=status)
