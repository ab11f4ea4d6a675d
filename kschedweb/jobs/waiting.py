"""The page of a question that a job works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import render

from kschedweb.accounts.roles import may_change
from kschedweb.jobs.models import ENDED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.jobs.models import Inquiry

PART, PAGE = "parts/job_wait.html", "jobs/question.html"


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
    request: PageRequest,
    inquiry: Inquiry,
    noun: str = "",
    *,
    address: str,
    form_address: str = "",
    template: str = PAGE,
    more: Mapping[str, object] | None = None,
) -> HttpResponse:
    """Render the page of a question without an answer; for htmx only the part that changes.

    ``noun`` names the kind of question, ``form_address`` leads to the form with this one, and ``more`` is for the
    template.
    """
    context: dict[str, object] = {"question": inquiry, "noun": noun, "form_address": form_address}
    context |= {**(more or {}), **wait_context(request, inquiry, address)}
    if not request.htmx:
        return render(request, template, context)
    response = render(request, PART, context)
    # Nothing is waited for any longer: the page says so.
    return load_again(response) if context["ended"] else response


def load_again(response: HttpResponse | None = None) -> HttpResponse:
    """Have htmx load the page that asked for the progress of a question again."""
    response = response or HttpResponse()
    response["HX-Refresh"] = "true"
    return response
