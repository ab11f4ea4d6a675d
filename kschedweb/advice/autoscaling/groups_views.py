"""The page about what cluster-autoscaler would do now with node groups that people type in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.advice.autoscaling import groups as service
from kschedweb.advice.autoscaling import services, words
from kschedweb.advice.autoscaling.requests import NodeGroupsRequest
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.policies.scope import scope_of
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest

MOST_LISTED = 200


@heavy
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def ask_node_groups(request: PageRequest) -> HttpResponse:
    """Show node groups to begin with, from the nodes of the snapshot. A POST asks about the typed ones.

    A job computes what takes long, and has its own page for the answer.
    """
    snapshot = scope_of(request).snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "autoscaling"})
    if request.method != "POST":
        return _render_page(request, service.ready_document(snapshot))
    document = request.POST.get("document", "")
    groups_request = NodeGroupsRequest(snapshot, document)
    try:
        try:
            answer = services.answer_at_once(autoscaling_request=groups_request)
        except DeadlineExceeded:
            return redirect(
                "autoscaling-answer", services.question_ask(user=request.user, autoscaling_request=groups_request).pk
            )
    except service.NotGroups as refused:
        return _render_page(request, document, refused.status, problems=refused.problems)
    except ApplicationError as error:
        return _render_page(request, document, error.status, refused=error)
    return render_answer(request, document, answer)


def render_answer(request: PageRequest, document: str, answer: Json, **context: Any) -> HttpResponse:
    """Render the page with an answer."""
    order = sorted(answer["nodes"], key=lambda node: (words.VERDICTS.index(node["verdict"]), node["utilisation"]))
    context |= {
        "answer": answer,
        "sentence": service.render_sentence(answer),
        "reasons": words.count_reasons(answer["nodes"])[:MOST_LISTED],
        "nodes": order[:MOST_LISTED],
    }
    return _render_page(request, document, **context)


def _render_page(request: PageRequest, document: str, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, "advice/autoscaling/groups.html", {"document": document, **context}, status=status)
