"""The pages about quota queues: all of them, one, a workload that waits in one, and one that would."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.events.selectors import find_object_events
from kschedweb.clusters.models import FIXED_SOURCES
from kschedweb.clusters.selectors import snapshot_named
from kschedweb.decisions.quota_queues import has_queues, read_queues
from kschedweb.decisions.selectors import snapshot_asked
from kschedweb.policies.scope import scope_of
from kschedweb.queues import presentation, selectors
from kschedweb.queues.forms import AdmissionForm, ForecastForm
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import LONGEST_ADDRESS, add_errors, filled_fields, page_part

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest

PAGE_SIZE, MOST_LISTED = 50, 100


@heavy
@require_safe
@requires(Action.VIEW)
def list_queues(request: PageRequest) -> HttpResponse:
    """Show cohorts and ClusterQueues as a tree, with their quota and who waits."""
    snapshot = scope_of(request).snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "queues"})
    if not has_queues(snapshot):
        return render(request, "queues/nothing.html", {"snapshot": snapshot})
    state = read_queues(snapshot)
    nodes = presentation.describe_trees(state)
    queues = [node for node in nodes if node["kind"] == "queue"]
    context = {
        "snapshot": snapshot,
        "cluster_name": snapshot.cluster.name,
        "page": Paginator(presentation.draw_bars(nodes), PAGE_SIZE).get_page(request.GET.get("page")),
        "queues": len(queues),
        "waiting": sum(node["waiting"] for node in queues),
        "admitted": sum(node["admitted"] for node in queues),
        "fair_sharing": state.uses_fair_sharing,
        "problems": state.problems[:MOST_LISTED],
    }
    return render(request, "queues/list.html", context)


@heavy
@require_safe
@requires(Action.VIEW)
def show_queue(request: PageRequest, cluster: str, queue: str) -> HttpResponse:
    """Show a ClusterQueue: its quota, who waits in which order, and who has quota of it."""
    snapshot = snapshot_asked(cluster, snapshot_named(request.GET))
    state = read_queues(snapshot)
    described = presentation.describe_queue_page(state, queue)
    if described is None:
        raise Http404(f"Cluster {cluster} has no ClusterQueue {queue[:253]}.")
    context = {
        "snapshot": snapshot,
        "cluster_name": cluster,
        "queue": presentation.draw_bars([described])[0],
        "page": Paginator(described["workloads"], PAGE_SIZE).get_page(request.GET.get("page")),
        "most": MOST_LISTED,
    }
    return render(request, "queues/queue.html", context)


@heavy
@require_safe
@requires(Action.VIEW)
def show_workload(request: PageRequest, cluster: str, namespace: str, workload: str) -> HttpResponse:
    """Show why a workload waits, whom it would evict, what would let it in, and when it gets quota."""
    snapshot = snapshot_asked(cluster, snapshot_named(request.GET))
    form = ForecastForm(request.GET)
    run_minutes = form.cleaned_data["run_minutes"] if form.is_valid() else None
    answer = selectors.explain(snapshot, f"{namespace}/{workload}", run_minutes)
    steps = selectors.list_history(snapshot, f"{namespace}/{workload}")
    described = presentation.describe_workload(answer, read_queues(snapshot), steps)
    address = reverse("workload-manifest", args=[cluster, namespace, workload], query={"snapshot": snapshot.pk})
    context = {
        "snapshot": snapshot,
        "cluster_name": cluster,
        "answer": described,
        "is_recorded": any(step["recorded"] for step in described["history"]),
        "may_be_recorded": snapshot.cluster.source not in FIXED_SOURCES,
        "events": find_object_events(snapshot, "Workload", workload, namespace=namespace),
        "manifest_address": address,
        "run_form": form,
        "most": MOST_LISTED,
    }
    return render(request, "queues/workload.html", context, status=200 if form.is_valid() else 400)


@heavy
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def ask_admission(request: PageRequest) -> HttpResponse:
    """Show whether a workload would get quota that is not submitted yet, or with other quotas."""
    scope = scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": "queues"})
    if not has_queues(snapshot):
        return render(request, "queues/nothing.html", {"snapshot": snapshot})
    choice = {"cluster": snapshot.cluster.name, **scope.pin}
    form = AdmissionForm(request.POST if request.method == "POST" else request.GET)
    context: dict[str, object] = {"snapshot": snapshot, "cluster_name": snapshot.cluster.name, "most": MOST_LISTED}
    status = 200
    if not form.is_submitted:
        form = AdmissionForm(initial={"queue": request.GET.get("queue", "")[:317]})
    elif form.is_valid():
        try:
            case, answer = selectors.ask_admission(snapshot, form.to_query())
            address = f"{request.path}?{urlencode(choice | filled_fields(form))}"
            # A question that is short enough gets an address that can be shared and loaded again.
            if request.method == "POST" and len(address) <= LONGEST_ADDRESS:
                return redirect(address)
            context |= {"answer": presentation.describe_workload(answer, case.state), "replaced": case.replaced}
        except ApplicationError as error:
            add_errors(form, error, {"requests": "cpu"})
    if form.errors:
        status = 400
    context |= {
        "form": form,
        "asks_at": f"{request.path}?{urlencode(choice)}",
        "local_queues": selectors.list_local_queues(snapshot)[:MOST_LISTED],
    }
    return render(request, "queues/admission.html", context, status=status)


@heavy
@require_safe
@requires(Action.VIEW)
@page_part
def show_queue_of_pod(request: PageRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """Lead to the page of a pod's Workload."""
    snapshot = snapshot_asked(cluster, snapshot_named(request.GET))
    name = selectors.find_workload_of(snapshot, namespace, pod)
    if not name:
        raise Http404(f"Cluster {cluster} has no Workload for the pod {namespace}/{pod}."[:500])
    address = reverse("queue-workload", args=[cluster, namespace, name])
    query = request.GET.urlencode()
    return redirect(f"{address}?{query}" if query else address)
