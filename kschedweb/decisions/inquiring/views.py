"""The page of a question about decisions: the progress of its job, then the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import HttpResponseClientRedirect

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions import services
from kschedweb.decisions.doubts import list_doubts
from kschedweb.decisions.fixes import present_fixes
from kschedweb.decisions.inquiring import selectors
from kschedweb.decisions.kept.explanation_bytes import unpack_explanation
from kschedweb.decisions.kept.insight import KeptMatrix
from kschedweb.decisions.matrix.comparison import PolicyComparison
from kschedweb.decisions.models import QuestionKind
from kschedweb.decisions.page_context import matrix_context, pod_object_context
from kschedweb.decisions.responsibility import find_responsible_scheduler, waiting_headline
from kschedweb.engine.json_types import Json
from kschedweb.jobs.waiting import PAGE, PART, load_again, wait_context
from kschedweb.policies.scope import scope_of

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.decisions.models import Question

# Nodes that the search box suggests.
MOST_NAMES = 1000


@require_safe
@requires(Action.VIEW, in_part=True)
@vary_on_headers("HX-Request")
def show_answer(request: PageRequest, question_id: UUID) -> HttpResponse:
    """Show the answer of a job, or its progress; htmx requests the part that changes."""
    question = selectors.question_get(request.user, question_id)
    content = selectors.answer_of(question)
    context = progress_context(request, question)
    if content is None:
        context |= {"noun": question.get_kind_display(), "subject": question.subject}
        response = render(request, PART if request.htmx else PAGE, context)
        # An effect is awaited on the page of the editor, whose changes would be lost.
        fails = request.htmx and context["ended"] and question.kind != QuestionKind.EFFECT
        return load_again(response) if fails else response
    if question.address:
        return HttpResponseClientRedirect(question.address) if request.htmx else redirect(question.address)
    if question.kind == QuestionKind.EFFECT:
        page = "part" if request.htmx else "page"
        return render(request, f"decisions/inquiring/effect_{page}.html", context | {"effect": content})
    matrix = kept_matrix(question, content)
    if request.htmx and request.htmx.target == "cell":
        return render(request, "decisions/arithmetic.html", kept_cell(request, matrix))
    if request.htmx:
        return load_again()
    context |= content | kept_columns(request, matrix, "The snapshot has no node")
    context |= _waiting_context(question, content) | present_fixes(content.get("answer") or {})
    context["comparison"] = PolicyComparison.from_dict(content["comparison"]) if content.get("comparison") else None
    if question.snapshot is not None and question.revision is not None:
        namespace = question.subject.partition("/")[0]
        context["doubts"] = list_doubts(question.snapshot, question.revision, namespace)
    if question.snapshot is not None and question.kind == QuestionKind.DECISION:
        context |= pod_object_context(question.snapshot, question.subject)
    return render(request, "decisions/inquiring/decision.html", context)


def _waiting_context(question: Question, content: Json) -> dict[str, object]:
    """Return what the page of a decision says about a pod that waits for approval now."""
    if question.kind != QuestionKind.DECISION or question.snapshot is None or question.revision is None:
        return {}
    _, wait = find_responsible_scheduler(question.snapshot, question.revision, question.subject)
    if wait is None:
        return {}
    name = question.subject.partition("/")[2]
    return {"wait": wait, "headline": waiting_headline(name, wait, content["headline"]["title"])}


def progress_context(request: PageRequest, question: Question) -> dict[str, object]:
    """Return the context of ``parts/job_wait.html``, and set the page's frame to the question's cluster and policy."""
    snapshot, revision = question.snapshot, question.revision
    scope = scope_of(request)
    # A run is about no cluster of the site.
    if question.kind != QuestionKind.RUN:
        scope.show(snapshot, revision)
    namespace, _, pod = question.subject.partition("/")
    context: dict[str, object] = {
        "question": question,
        **wait_context(request, question, reverse("decision-answer", args=[question.pk])),
        "namespace_name": namespace,
        "pod_name": pod,
        "cluster": scope.cluster,
        "cluster_name": snapshot.cluster.name if snapshot and question.kind != QuestionKind.RUN else "",
        "policy": scope.policy,
    }
    context["form_address"] = question.address
    if question.kind == QuestionKind.DECISION and snapshot and revision:
        path = reverse("decision", args=[snapshot.cluster.name, namespace, pod])
        context["form_address"] = services.page_address(path, snapshot, revision)
    return context


def kept_columns(request: HttpRequest, matrix: KeptMatrix, absent: str) -> dict[str, object]:
    """Return funnel, figure and matrix, the verdicts on the node of the address, and the arithmetic of its cell."""
    parameters = {name: value for name, value in request.GET.items() if value and name not in ("node", "cell")}
    return {
        **matrix_context(request, matrix, absent),
        **kept_cell(request, matrix),
        "only_stored": True,
        "nodes_with_arithmetic": matrix.insight.worked,
        "insight": matrix.insight,
        "base_query": f"{urlencode(parameters)}&" if parameters else "",
        "hidden_fields": parameters,
        "names": matrix.explanation.nodes[:MOST_NAMES],
    }


def kept_decision(request: HttpRequest, question: Question, content: Json, absent: str) -> dict[str, object]:
    """Return the context of a stored decision, as ``page_parts.decision_context`` does of a fresh one."""
    matrix = kept_matrix(question, content)
    context = {"answer": content["headline"], "miss": matrix.insight.miss, "devices": content["devices"]}
    return context | kept_columns(request, matrix, absent)


def kept_matrix(question: Question, content: Json) -> KeptMatrix:
    """Return the verdicts and scores of an answer about a decision."""
    assert question.columns is not None
    explanation, insight = unpack_explanation(bytes(question.columns))
    return KeptMatrix(explanation, insight, scale=content["scale"], all_reasons=content["all_reasons"])


def kept_cell(request: HttpRequest, matrix: KeptMatrix) -> dict[str, object]:
    """Return the arithmetic of the cell that the address names, if it was stored."""
    arithmetic = matrix.find_arithmetic(request.GET.get("node", "").strip(), request.GET.get("cell", ""))
    return {"arithmetic": arithmetic} if arithmetic else {}
