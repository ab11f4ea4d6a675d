"""The decision page and the node names that it suggests."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.redaction import in_part, pod_seen
from kschedweb.clusters.selectors import node_rows, pod_rows
from kschedweb.decisions import figures_in_force, selectors, services
from kschedweb.decisions.deciders import build_comparison, get_decider
from kschedweb.decisions.doubts import list_doubts
from kschedweb.decisions.fixes import find_pod_fixes, present_fixes
from kschedweb.decisions.groups.words import by_itself
from kschedweb.decisions.inquiring.decision_questions import decision_ask
from kschedweb.decisions.node_map import map_decision
from kschedweb.decisions.page_context import cell_context, decision_context, pod_object_context
from kschedweb.decisions.redaction import redact_decision
from kschedweb.decisions.responsibility import find_responsible_scheduler, waiting_headline
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.engine.queueing.explaining.pod_links import GATES
from kschedweb.policies.scope import scope_of
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.heavy import heavy
from kschedweb.web.nodemap.nodemap import MapChoice
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.page_parts import Headline
    from kschedweb.decisions.responsibility import ApprovalWait
    from kschedweb.policies.models import Revision

SUGGESTIONS = 20


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
@vary_on_headers("HX-Request")
def show_decision(request: PageRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """Show the decision page: headline, funnel, matrix, chart, one node, one cell.

    For a click on a cell, htmx requests the same address and gets only the cell's arithmetic. For a cluster that is too
    large to be read here, or a pod that takes too long, a job finds the answer, which has a page of its own.
    """
    snapshot, chosen = snapshot_and_revision(request, cluster)
    scheduler, wait = find_responsible_scheduler(snapshot, chosen, f"{namespace}/{pod}")
    context: dict[str, object] = {
        "snapshot": snapshot,
        "chosen": chosen,
        "scheduler": scheduler,
        "wait": wait,
        "cluster_name": cluster,
        "namespace_name": namespace,
        "pod_name": pod,
    }
    if (revision := scheduler.revision) is None:
        row = pod_rows(snapshot).get(namespace=namespace, name=pod)
        context |= pod_object_context(snapshot, f"{namespace}/{pod}", row.uid)
        return render(request, "decisions/other_scheduler.html", context | {"row": row})
    scope_of(request).revision = revision
    against = request.GET.get("against", "")
    compared = selectors.revision_named(against) if against else None
    if all(services.at_hand(snapshot, candidate) for candidate in (revision, compared) if candidate is not None):
        with suppress(DeadlineExceeded):
            return _render_decision(request, snapshot, f"{namespace}/{pod}", revision, compared, wait, context)
    arguments: dict[str, Any] = {"snapshot": snapshot, "revision": revision, "pod": f"{namespace}/{pod}"}
    address = reverse("decision-answer", args=[decision_ask(user=request.user, **arguments, against=against).pk])
    return HttpResponse(headers={"HX-Redirect": address}) if request.htmx else redirect(address)


def _render_decision(
    request: PageRequest,
    snapshot: Snapshot,
    key: str,
    revision: Revision,
    compared: Revision | None,
    wait: ApprovalWait | None,
    context: dict[str, object],
) -> HttpResponse:
    """Render the page of the pod ``key`` ("namespace/name"). Raise DeadlineExceeded if it takes too long."""
    namespace, _, pod = key.partition("/")
    decider = get_decider(revision)
    context |= {
        "revision": revision,
        "doubts": list_doubts(snapshot, revision, namespace),
        "revisions": revision.policy.revisions.defer("document")[:8],
    }
    try:
        case = services.decide_pod(snapshot, key, revision)
    except ApplicationError as error:
        if error.status == 404:
            raise
        context |= pod_object_context(snapshot, key)
        return render(request, "decisions/failed.html", {**context, "error": error}, status=200)
    if getattr(request, "htmx", False) and request.htmx.target == "cell":  # type: ignore[attr-defined]
        return render(request, "decisions/arithmetic.html", cell_context(request, decider.present(case)))
    against, other, why = _find_compared(compared, snapshot, key)
    presentation = decider.present(case, other)
    context |= {
        "decision": presentation,
        "room": services.with_room(snapshot, key, revision),
        "classic": presentation.algorithm,
        "by_itself": by_itself(case),
        "group": "" if presentation.algorithm else case.pod.scheduling_group.partition("/")[2],
        "queue_gate": next((gate for gate in case.pod.gates if gate in GATES), ""),
        "against": against,
        "against_fails": why,
        "comparison": build_comparison(presentation, revision, against, other) if against and other else None,
        "choices": selectors.revisions_to_compare(),
        "in_force": figures_in_force.find_in_force(case.snapshot, snapshot),
        "neighbours": selectors.find_neighbours(snapshot, namespace, pod),
        **_links_context(request),
        **pod_object_context(snapshot, key, case.pod.uid),
    }
    with services.lock_snapshot(snapshot):
        pinned = f"{against.policy.name}@{against.number}" if against else ""
        context |= decision_context(request, presentation, "The snapshot has no node", pinned)
    context["map"] = map_decision(snapshot, presentation, MapChoice.from_address(request.GET))
    if wait is not None:
        context["answer"] = waiting_headline(pod, wait, cast("Headline", context["answer"]).title)
    context |= present_fixes(redact_decision(snapshot.cluster_id, find_pod_fixes(snapshot, revision, case)))
    if in_part(snapshot.cluster_id):
        # Devices are shown with the claims that hold them, which may be in other namespaces.
        context["devices"] = None
    return render(request, "decisions/decision.html", context)


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def node_names(request: HttpRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """List names of nodes that contain ?node=, for the field "why not here"."""
    snapshot, _ = snapshot_and_revision(request, cluster)
    pod_seen(snapshot, f"{namespace}/{pod}")
    part = request.GET.get("node", "").strip().lower()
    names = [name for name in node_rows(snapshot).values_list("name", flat=True) if part in name.lower()]
    # Names that begin with the text come first.
    names.sort(key=lambda name: (not name.startswith(part), name))
    return render(request, "decisions/node_names.html", {"names": names[:SUGGESTIONS]})


def snapshot_and_revision(request: HttpRequest, cluster: str) -> tuple[Snapshot, Revision]:
    """Return the snapshot and the revision that the address or the page's frame names. Raise Http404 or NotFound."""
    scope = scope_of(request)
    snapshot = scope.snapshot or selectors.snapshot_asked(cluster, scope.pinned)
    if not request.GET.get("policy") and not request.GET.get("revision") and scope.revision is not None:
        return snapshot, scope.revision
    policy = request.GET.get("policy") or (scope.policy.name if scope.policy else "default")
    return snapshot, selectors.revision_asked(policy, request.GET.get("revision", ""))


def _find_compared(
    revision: Revision | None, snapshot: Snapshot, key: str
) -> tuple[Revision | None, AnyCase | None, str]:
    """Return the revision to compare with, and the same pod under it, or the error of its cycle."""
    if revision is None:
        return None, None, ""
    other = services.other_case(snapshot, key, revision)
    return (revision, None, other.detail) if isinstance(other, Unprocessable) else (revision, other, "")


def _links_context(request: HttpRequest) -> dict[str, object]:
    """Return the parameters of the address that the page's links and forms keep."""
    parameters = {name: value for name, value in request.GET.items() if value}
    cells = {name: value for name, value in parameters.items() if name not in ("node", "cell")}
    return {
        "base_query": f"{urlencode(cells)}&" if cells else "",
        "hidden_fields": cells,
        "compare_fields": {name: value for name, value in parameters.items() if name not in ("against", "page")},
    }
