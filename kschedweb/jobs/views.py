"""The pages of jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import require_owner, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.jobs import selectors, services
from kschedweb.jobs.filters import JobFilter
from kschedweb.jobs.models import ENDED
from kschedweb.web.errors import Conflict
from kschedweb.web.news import growing_page, with_news

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.jobs.models import Job

# The pages of objects that jobs name in their results.
PAGES = {
    "autoscaling": "autoscaling-answer",
    "capacity": "capacity-answer",
    "cluster": "cluster",
    "comparison": "comparison",
    "decision": "decision-answer",
    "experiment": "experiment",
    "gate": "gate-verdict",
    "moves": "descheduling-answer",
    "plan": "plans-answer",
    "question": "migration-answer",
    "recording": "recording",
    "run": "run",
    "tried": "tried",
}


@require_safe
@requires(Action.VIEW)
@with_news
def list_jobs(request: PageRequest) -> HttpResponse:
    filters = JobFilter(request.GET, queryset=selectors.job_list(), request=request)
    page = growing_page(request, filters.qs, indexed_rows=filters.indexed_rows)
    visible_jobs = selectors.with_places(selectors.redact_job(request.user, row) for row in page.rows)
    context = {
        "filters": filters,
        "page": replace(page, rows=visible_jobs),
        "running": selectors.unfinished_count(),
        "limits": selectors.compute_limits(request.user),
    }
    return render(request, "jobs/job_list.html", context)


@require_safe
@requires(Action.VIEW)
def show_job(request: PageRequest, job_id: UUID) -> HttpResponse:
    """Show the job's page; to HTMX only the part that changes."""
    (row,) = selectors.with_places([selectors.redact_job(request.user, selectors.job_get(job_id))])
    context = {"job": row, "ended": row.state in ENDED, "may_cancel": may_change(request.user, row)}
    context["results"] = _link_results(row)
    if request.htmx and row.state in ENDED:
        # The whole page is loaded again, so that its title tells how the job ended.
        response = render(request, "jobs/live.html", context)
        response["HX-Refresh"] = "true"
        return response
    return render(request, "jobs/live.html" if request.htmx else "jobs/job_detail.html", context)


def _link_results(row: Job) -> list[tuple[str, Any, str]]:
    """Return each result by name, with the address of its page; "" if it has none."""
    return [
        (key, value, reverse(PAGES[key], args=[value]) if key in PAGES and value else "")
        for key, value in row.result.items()
    ]


@require_POST
@requires(Action.EDIT)
def cancel_job(request: PageRequest, job_id: UUID) -> HttpResponse:
    row = require_owner(request.user, selectors.job_get(job_id), "a job", "cancel")
    try:
        services.job_cancel(job=row, user=request.user)
    except Conflict as error:
        messages.info(request, error.detail)
    # It may be a page about what the job does.
    asked_on = request.META.get("HTTP_REFERER", "")
    if url_has_allowed_host_and_scheme(asked_on, {request.get_host()}, require_https=request.is_secure()):
        return redirect(asked_on)
    return redirect("job", job_id)
