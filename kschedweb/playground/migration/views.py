"""Pages of classic migration: the form, and an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import require_action, requires
from kschedweb.accounts.roles import Action
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.playground.migration import listing, selectors, sentences, services
from kschedweb.playground.migration.filters import QuestionFilter
from kschedweb.playground.migration.forms import MovesForm
from kschedweb.playground.migration.tables import MOVED
from kschedweb.policies.scope import scope_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_table
from kschedweb.web.news import numbered_page, with_news
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.playground.migration.models import Question

# Questions and pods on a page.
PAGE_SIZE, PODS = 20, 50


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@with_news
def show_migration(request: PageRequest) -> HttpResponse:
    """Show the form and earlier questions; a POST asks."""
    if request.method == "POST":
        require_action(request.user, Action.EDIT, refusal="An editor may ask which pods would move.")
    form = MovesForm(request.POST if request.method == "POST" else request.GET, snapshot=scope_of(request).snapshot)
    missing = next((name for name in ("snapshot", "classic") if not form.fields[name].choices), "")  # type: ignore[attr-defined]
    if request.method == "POST" and form.is_valid() and (question := _ask_question(request, form)):
        return redirect("migration-answer", question.pk)
    filters = QuestionFilter(request.GET, queryset=selectors.question_list().defer("content"))
    context = {
        "form": form,
        "missing": missing,
        "filters": filters,
        "page": numbered_page(request, filters.qs),
        "hidden_fields": {name: value for name, value in request.GET.items() if name in form.fields},
    }
    refused = form.has_params and not missing and not form.is_valid()
    return render(request, "playground/migration/moves.html", context, status=400 if refused else 200)


def _ask_question(request: PageRequest, form: MovesForm) -> Question | None:
    """Return the question; ``None`` if it is invalid, and the form has the errors."""
    try:
        return services.question_ask(user=request.user, query=form.query)
    except ApplicationError as error:
        add_errors(form, error)
        return None


@require_safe
@requires(Action.VIEW)
def show_answer(request: PageRequest, question_id: UUID) -> HttpResponseBase:
    """Show an answer, differences first, as a page or a file, or the progress of its job."""
    question = selectors.question_get(question_id)
    if question.counts is None:
        return _render_progress(request, question)
    if request.htmx:
        return load_again()
    filters = {name: request.GET.get(name, "").strip() for name in listing.ANY}
    listed = listing.MovedPods(selectors.differing_pods(question), filters, request.GET.get("ordering", ""))
    if (file := request.GET.get("format")) in FORMATS:
        return export_table(file, f"moves-{question.pk}", MOVED, listed)
    context = {
        "question": question,
        "sentence": sentences.answer_sentence(question.counts),
        "pods": sentences.pods_of(question),
        "groups": listing.moved_by_rule(question.counts),
        "verdicts": listing.verdict_counts(question.counts),
        "differ": listing.DIFFER,
        "filters": filters,
        "page": Paginator(listed, PODS).get_page(request.GET.get("page")),
        "decisions": _decision_links(question),
    }
    return render(request, "playground/migration/answer.html", context)


def _decision_links(question: Question) -> dict[str, str]:
    """Return the parameters of links to decisions under each side, for sides that are saved."""
    if question.snapshot is None:
        return {}
    sides = {"classic": question.classic, "profile": question.profile}
    return {
        side: urlencode(
            {"policy": revision.policy.name, "revision": revision.number, "snapshot": str(question.snapshot_id)}
        )
        for side, revision in sides.items()
        if revision is not None
    }


def _render_progress(request: PageRequest, question: Question) -> HttpResponse:
    return render_waiting(
        request,
        question,
        template="playground/migration/answer.html",
        address=reverse("migration-answer", args=[question.pk]),
        form_address=reverse("migration"),
        more={"unit": "pods", "pods": sentences.pods_of(question)},
    )
