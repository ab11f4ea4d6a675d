"""The pages of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters import selectors, services
from kschedweb.clusters.connecting.sources import in_cluster_available
from kschedweb.clusters.flight.selectors import recorder_of
from kschedweb.clusters.forms import ConnectForm, CredentialsForm, ImportForm, LabelsForm, ScheduleForm
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.kinds import KINDS
from kschedweb.clusters.refreshing import cluster_label, refresh_schedule
from kschedweb.clusters.seen import problems_seen
from kschedweb.clusters.services import CONNECTED, STORED
from kschedweb.engine.releases import minor, upgrade
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster

PAGE_SIZE = 50
# The resources of a snapshot by kubectl's names; "create clusterrole" and "get" accept the same list.
RESOURCES = ",".join(
    f"{kind.resource}.{kind.group}" if kind.group else kind.resource for kind in KINDS if not kind.optional
)
PROBLEMS_SHOWN = 100


def _sent(request: PageRequest) -> tuple[Any, Any]:
    """The form's data and files; ``None`` before the form was sent."""
    return (request.POST, request.FILES) if request.method == "POST" else (None, None)


@require_safe
@requires(Action.VIEW, in_part=True)
def clusters(request: PageRequest) -> HttpResponse:
    page = Paginator(selectors.cluster_list(), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "clusters/cluster_list.html", {"page": page, "connected": CONNECTED})


@never_cache
@sensitive_post_parameters()
@requires(Action.ADMINISTER)
def connect(request: PageRequest) -> HttpResponse:
    form = ConnectForm(*_sent(request))
    if request.method == "POST" and form.is_valid():
        try:
            cluster, job = services.cluster_connect(user=request.user, **form.cleaned_data)
        except ApplicationError as error:
            form.add_service_errors(error)
        else:
            messages.success(request, f"Connected to {cluster.name}, {cluster.server_version}. It is being read now.")
            return redirect(f"{reverse('cluster', args=[cluster.name])}?job={job.pk}")
    if form.errors:
        form.tell_emptied()
    context = {"form": form, "in_cluster": in_cluster_available(), "allowed": settings.CLUSTER_ALLOWLIST}
    context["resources"] = RESOURCES
    return render(request, "clusters/cluster_connect.html", context, status=400 if form.errors else 200)


@requires(Action.EDIT, site=True)
def import_files(request: PageRequest) -> HttpResponse:
    again = {"name": request.GET.get("name", ""), "replace": True} if "name" in request.GET else None
    form = ImportForm(*_sent(request), initial=again)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            given = {name: form.cleaned_data[name] for name in ("name", "replace", "version")}
            about: dict[str, Any] = {"user": request.user, "limit": settings.UPLOAD_LIMIT, **given}
            files, is_large = uploads.looked_at(form.sent())
            try:
                if is_large:
                    return redirect("job", services.cluster_import_later(files=files, **about).pk)
                cluster, _, read = services.cluster_import(files=files, **about)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
            else:
                objects = len(read.objects)
                left_out = f"; {read.left_out:,} were left out, see below" if read.left_out else ""
                messages.success(request, f"Imported {objects:,} objects into {cluster.name}{left_out}.")
                return redirect("cluster", cluster.name)
    context = {"form": form, "limit": settings.UPLOAD_LIMIT // 1024 // 1024, "resources": RESOURCES}
    return render(request, "clusters/cluster_import.html", context, status=status)


@require_safe
@requires(Action.VIEW, in_part=True)
def cluster(request: PageRequest, name: str) -> HttpResponse:
    return _cluster(request, selectors.cluster_get(name))


def _cluster(
    request: PageRequest, found: Cluster, form: ScheduleForm | None = None, labels: LabelsForm | None = None
) -> HttpResponse:
    snapshot = selectors.snapshot_current(found)
    counts = dict(snapshot.counts) if snapshot else {}
    problems = problems_seen(snapshot) if snapshot else []
    context = {
        "cluster": found,
        "schedule": form or ScheduleForm(initial={"refresh_minutes": found.refresh_minutes}),
        "labels": labels or LabelsForm(initial={"labels": ", ".join(f"{k}={v}" for k, v in found.labels.items())}),
        "may_label": request.user.everywhere(Action.ADMINISTER),
        "snapshot": snapshot,
        "snapshots": list(selectors.snapshot_list(found)),
        "counts": counts,
        "others": {kind: count for kind, count in counts.items() if kind not in ("Node", "Pod", "pending")},
        "problems": problems[:PROBLEMS_SHOWN],
        "problem_count": len(problems),
        "permissions": selectors.permissions_by_resource(found),
        "missing": selectors.permissions_missing(found),
        "release_remark": selectors.release_remark(found),
        "connected": found.source in CONNECTED,
        "stored": found.source in STORED,
        "job": selectors.refresh_job(found),
        "flight_on": recorder_of(found).on,
        **(_upgrade(found) if snapshot else {}),
    }
    return render(request, "clusters/cluster_detail.html", context, status=400 if form or labels else 200)


def _upgrade(found: Cluster) -> dict[str, Any]:
    """The question for the gate: what the newest kube-scheduler does otherwise than the cluster's; {} if it is that.

    ``assumed`` has both releases where the cluster names no version.
    """
    before, after = upgrade(found.server_version)
    if before == after:
        return {}
    asked = urlencode({"on": f"cluster:{found.name}", "release": after, "baseline_release": before})
    return {"upgrade": asked, "assumed": None if minor(found.server_version) else (before, after)}


@require_POST
@requires(Action.EDIT)
def refresh(request: PageRequest, name: str) -> HttpResponse:
    job = services.cluster_refresh(user=request.user, cluster=selectors.cluster_get(name))
    return redirect("job", job.pk)


@require_POST
@requires(Action.EDIT)
def schedule(request: PageRequest, name: str) -> HttpResponse:
    """How often the cluster is read again; what is wrong is told on its page, with what was entered."""
    found = selectors.cluster_get(name)
    form = ScheduleForm(request.POST)
    if not form.is_valid():
        return _cluster(request, found, form)
    minutes = form.cleaned_data["refresh_minutes"]
    refresh_schedule(user=request.user, cluster=found, minutes=minutes)
    said = f"{name} is read every {minutes} min from now on." if minutes else f"{name} is read when you refresh it."
    messages.success(request, said)
    return redirect("cluster", name)


@require_POST
@requires(Action.ADMINISTER)
def labels(request: PageRequest, name: str) -> HttpResponse:
    """The labels of a cluster: who may give grants decides about them."""
    found, form = selectors.cluster_get(name), LabelsForm(request.POST)
    try:
        if form.is_valid():
            cluster_label(user=request.user, cluster=found, labels=form.cleaned_data["labels"])
            return redirect("cluster", name)
    except ApplicationError as error:
        add_errors(form, error)
    return _cluster(request, found, labels=form)


@requires(Action.ADMINISTER, site=False)
def delete(request: PageRequest, name: str) -> HttpResponse:
    """Delete a cluster after the user has entered its name: this cannot be undone."""
    found = selectors.cluster_get(name)
    wrong = False
    if request.method == "POST":
        if request.POST.get("name", "").strip() == found.name:
            services.cluster_delete(user=request.user, cluster=found)
            messages.success(request, f"Cluster {name} deleted, with its snapshots and credentials.")
            return redirect("clusters")
        wrong = True
    return render(
        request, "clusters/cluster_delete.html", {"cluster": found, "wrong": wrong}, status=400 if wrong else 200
    )


@never_cache
@sensitive_post_parameters()
@requires(Action.ADMINISTER, site=False)
def credentials(request: PageRequest, name: str) -> HttpResponse:
    """Replace the stored credentials after a test of the new ones."""
    found = selectors.cluster_get(name)
    services.credentials_replaceable(found)
    form = CredentialsForm(*_sent(request))
    if request.method == "POST" and form.is_valid():
        try:
            services.cluster_credentials_replace(user=request.user, cluster=found, **form.cleaned_data)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            messages.success(request, f"Credentials of {found.name} replaced. Nothing had to be stopped.")
            return redirect("cluster", found.name)
    if form.errors:
        form.tell_emptied()
    context = {"form": form, "cluster": found}
    return render(request, "clusters/cluster_credentials.html", context, status=400 if form.errors else 200)


@require_POST
@requires(Action.EDIT, site=True)
def demo(request: PageRequest) -> HttpResponse:
    found = services.demo_load(user=request.user)
    return redirect("cluster", found.name)
