"""The page of a question that a job works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.shortcuts import render

from kschedweb.accounts.roles import may_change
from kschedweb.jobs.models import ENDED

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.jobs.models import Inquiry

PART = "parts/job_wait.html"


def wait_context(request: PageRequest, inquiry: Inquiry, address: str) -> dict[str, object]:
    """Return the context of ``parts/job_wait.html`` for the question whose page is at ``address``."""
    job = inquiry.job
    return {
        "job": job,
        "ended": inquiry.ended_at is not None or job is None or job.state in ENDED,
        "may_cancel": job is not None and may_change(request.user, job),
        "address": address,
    }


def render_waiting(
    request: PageRequest, inquiry: Inquiry, template: str, *, address: str, form_address: str, **context: object
) -> HttpResponse:
    """Render the page of a question without an answer; for htmx only the part that changes.

    ``form_address`` leads to the form with this question.
    """
    context |= wait_context(request, inquiry, address) | {"form_address": form_address}
    return render(request, PART if request.htmx and not context["ended"] else template, context)
