"""The pages of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters import selectors, services
from kschedweb.clusters.connecting.addresses import CLUSTERS, UnlistedAddress
from kschedweb.clusters.connecting.allowed_addresses import (
    allowed_address_add,
    allowed_address_list,
    allowed_address_remove,
)
from kschedweb.clusters.connecting.kubeconfig import KubeconfigError
from kschedweb.clusters.connecting.sources import in_cluster_available
from kschedweb.clusters.flight.selectors import recorder_of
from kschedweb.clusters.forms import AddressForm, ConnectForm, CredentialsForm, ImportForm, LabelsForm, ScheduleForm
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.kinds import EVENT, KINDS
from kschedweb.clusters.manifests import object_manifest
from kschedweb.clusters.models import ClusterSource
from kschedweb.clusters.redaction import pod_seen, problems_seen
from kschedweb.clusters.refresh_schedule import cluster_label, refresh_schedule
from kschedweb.clusters.services import CONNECTED, STORED
from kschedweb.engine.releases import find_upgrade_range, parse_minor
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import add_errors, page_part, run_and_notify

if TYPE_CHECKING:
    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster

PAGE_SIZE = 50
# The resources of a snapshot by kubectl's names; "create clusterrole" and "get" accept the same list.
RESOURCES = ",".join(
    f"{kind.resource}.{kind.group}" if kind.group else kind.resource for kind in (*KINDS, EVENT) if not kind.optional
)
PROBLEMS_SHOWN = 100
# Problems that the message about an import names.
PROBLEMS_NAMED = 3


def _form_data(request: PageRequest) -> tuple[Any, Any]:
    """Return the form's data and files; ``None`` before the form was sent."""
    return (request.POST, request.FILES) if request.method == "POST" else (None, None)


@require_safe
@requires(Action.VIEW, in_part=True)
def list_clusters(request: PageRequest) -> HttpResponse:
    page = Paginator(selectors.cluster_list(), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "clusters/cluster_list.html", {"page": page, "connected": CONNECTED})


# What the page of connecting keeps when an address is allowed: nothing secret.
KEPT_FIELDS = ("name", "source", "server")


@never_cache
@sensitive_post_parameters()
@requires(Action.ADMINISTER)
def connect_cluster(request: PageRequest) -> HttpResponse:
    initial = {name: request.GET[name] for name in KEPT_FIELDS if name in request.GET}
    form, unlisted = ConnectForm(*_form_data(request), initial=initial), ""
    if request.method == "POST" and form.is_valid():
        try:
            cluster, _ = services.cluster_connect(user=request.user, **form.cleaned_data)
        except ApplicationError as error:
            unlisted = error.entry if isinstance(error, UnlistedAddress) else ""
            if isinstance(error, KubeconfigError) and error.server:
                return _render_token_step(request, form, error)
            form.add_service_errors(error)
            form.offer_contexts()
        else:
            messages.success(
                request,
                gettext("Connected to %(cluster)s, %(server_version)s. It is being read now.")
                % {"cluster": cluster.name, "server_version": cluster.server_version},
            )
            return redirect(reverse("overview", query={"cluster": cluster.name}))
    if form.errors:
        form.tell_emptied()
    return _render_connect(request, form, AddressForm(), unlisted=unlisted)


def _render_token_step(request: PageRequest, form: ConnectForm, refused: KubeconfigError) -> HttpResponse:
    """Show the commands that make a token, and a form that lacks only the token."""
    initial = {"name": form.cleaned_data["name"], "source": ClusterSource.TOKEN, "server": refused.server}
    token_form = ConnectForm(initial={**initial, "ca": refused.ca})
    return _render_connect(request, token_form, AddressForm(), refused=refused, status=400)


def _render_connect(
    request: PageRequest,
    form: ConnectForm,
    address_form: AddressForm,
    *,
    refused: KubeconfigError | None = None,
    unlisted: str = "",
    status: int = 0,
) -> HttpResponse:
    """Show the form, with ``unlisted``, an entry that the allowlist lacks, if connecting failed for it."""
    added = list(allowed_address_list()) if CLUSTERS.editable else []
    context = {
        "form": form,
        "address_form": address_form,
        "in_cluster": in_cluster_available(),
        "operator_entries": CLUSTERS.operator_entries,
        "added": added,
        "resources": RESOURCES,
        "refused": refused,
        "unlisted": unlisted,
        "kept": {name: form[name].value() or "" for name in KEPT_FIELDS},
    }
    return render(request, "clusters/cluster_connect.html", context, status=status or (400 if form.errors else 200))


@require_POST
@requires(Action.ADMINISTER)
def allow_address(request: PageRequest) -> HttpResponse:
    """Add an address to the allowlist, and return to the form with what is not secret in it."""
    address_form, status = AddressForm(request.POST), 400
    kept_fields = {name: request.POST[name] for name in KEPT_FIELDS if request.POST.get(name)}
    if address_form.is_valid():
        try:
            row = allowed_address_add(user=request.user, entry=address_form.cleaned_data["entry"])
        except ApplicationError as error:
            add_errors(address_form, error)
            status = error.status
        else:
            messages.success(request, gettext("This site may connect to %(entry)s now.") % {"entry": row.entry})
            return redirect(reverse("cluster-connect", query=kept_fields))
    return _render_connect(request, ConnectForm(initial=kept_fields), address_form, status=status)


@require_POST
@requires(Action.ADMINISTER)
def remove_address(request: PageRequest) -> HttpResponse:
    """Remove an address that an administrator added to the allowlist."""
    entry = request.POST.get("entry", "")
    message = gettext("This site opens no new connection to %(entry)s.") % {"entry": entry}
    run_and_notify(request, lambda: allowed_address_remove(user=request.user, entry=entry), message)
    return redirect(reverse("cluster-connect") + "#addresses")


@requires(Action.EDIT, site=True)
def import_files(request: PageRequest) -> HttpResponse:
    initial = {"name": request.GET.get("name", ""), "replace": True} if "name" in request.GET else None
    form = ImportForm(*_form_data(request), initial=initial)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            values = {name: form.cleaned_data[name] for name in ("name", "replace", "version")}
            options: dict[str, Any] = {"user": request.user, "limit": settings.UPLOAD_LIMIT, **values}
            files, is_large = uploads.looked_at(form.uploaded_files())
            try:
                if is_large:
                    return redirect("job", services.cluster_import_later(files=files, **options).pk)
                cluster, _, read = services.cluster_import(files=files, **options)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
            else:
                count = max(len(read.problems), read.left_out)
                words = {"objects": f"{len(read.objects):,}", "cluster": cluster.name}
                messages.success(request, gettext("Imported %(objects)s objects into %(cluster)s.") % words)
                if count:
                    text = ngettext(
                        "%(count)s object was left out or is doubtful: see Clusters → %(cluster)s.",
                        "%(count)s objects were left out or are doubtful: see Clusters → %(cluster)s.",
                        count,
                    )
                    first = [f"{problem['object']}: {problem['reason']}" for problem in read.problems[:PROBLEMS_NAMED]]
                    summary = text % {"count": f"{count:,}", "cluster": cluster.name}
                    messages.warning(request, " ".join([summary, *first]))
                return redirect(reverse("overview", query={"cluster": cluster.name}))
    context = {"form": form, "limit": settings.UPLOAD_LIMIT // 1024 // 1024, "resources": RESOURCES}
    return render(request, "clusters/cluster_import.html", context, status=status)


@require_safe
@requires(Action.VIEW, in_part=True)
def show_cluster(request: PageRequest, name: str) -> HttpResponse:
    return _render_cluster(request, selectors.cluster_get(name))


def _render_cluster(
    request: PageRequest, cluster: Cluster, form: ScheduleForm | None = None, labels: LabelsForm | None = None
) -> HttpResponse:
    snapshot = selectors.snapshot_current(cluster)
    counts = dict(snapshot.counts) if snapshot else {}
    problems = problems_seen(snapshot) if snapshot else []
    context = {
        "cluster": cluster,
        "schedule": form or ScheduleForm(initial={"refresh_minutes": cluster.refresh_minutes}),
        "labels": labels or LabelsForm(initial={"labels": ", ".join(f"{k}={v}" for k, v in cluster.labels.items())}),
        "may_label": request.user.everywhere(Action.ADMINISTER),
        "snapshot": snapshot,
        "snapshots": list(selectors.snapshot_list(cluster)),
        "counts": counts,
        "other_counts": {kind: count for kind, count in counts.items() if kind not in ("Node", "Pod", "pending")},
        "problems": problems[:PROBLEMS_SHOWN],
        "problem_count": len(problems),
        "permissions": selectors.permissions_by_resource(cluster),
        "missing": selectors.permissions_missing(cluster),
        "release_remark": selectors.release_remark(cluster),
        "connected": cluster.source in CONNECTED,
        "stored": cluster.source in STORED,
        "job": selectors.refresh_job(cluster),
        "flight_on": recorder_of(cluster).on,
        **(_upgrade_context(cluster) if snapshot else {}),
    }
    return render(request, "clusters/cluster_detail.html", context, status=400 if form or labels else 200)


def _upgrade_context(cluster: Cluster) -> dict[str, object]:
    """Return the question for the gate: what differs in the newest kube-scheduler; {} if the cluster runs it already.

    ``assumed`` has both releases if the cluster names no version.
    """
    before, after = find_upgrade_range(cluster.server_version)
    if before == after:
        return {}
    query = urlencode({"on": f"cluster:{cluster.name}", "release": after, "baseline_release": before})
    return {"upgrade": query, "assumed": None if parse_minor(cluster.server_version) else (before, after)}


@require_POST
@requires(Action.EDIT)
def refresh_cluster(request: PageRequest, name: str) -> HttpResponse:
    job = services.cluster_refresh(user=request.user, cluster=selectors.cluster_get(name))
    return redirect("job", job.pk)


@require_POST
@requires(Action.EDIT)
def schedule_refresh(request: PageRequest, name: str) -> HttpResponse:
    """Set how often the cluster is read again. Errors are shown on its page, with what was entered."""
    cluster = selectors.cluster_get(name)
    form = ScheduleForm(request.POST)
    if not form.is_valid():
        return _render_cluster(request, cluster, form)
    minutes = form.cleaned_data["refresh_minutes"]
    refresh_schedule(user=request.user, cluster=cluster, minutes=minutes)
    message = f"{name} is read every {minutes} min from now on." if minutes else f"{name} is read when you refresh it."
    messages.success(request, message)
    return redirect("cluster", name)


@require_POST
@requires(Action.ADMINISTER)
def set_labels(request: PageRequest, name: str) -> HttpResponse:
    """Set the labels of a cluster. They decide about grants, so only administrators may set them."""
    cluster, form = selectors.cluster_get(name), LabelsForm(request.POST)
    try:
        if form.is_valid():
            cluster_label(user=request.user, cluster=cluster, labels=form.cleaned_data["labels"])
            return redirect("cluster", name)
    except ApplicationError as error:
        add_errors(form, error)
    return _render_cluster(request, cluster, labels=form)


@requires(Action.ADMINISTER, site=False)
def delete_cluster(request: PageRequest, name: str) -> HttpResponse:
    """Delete a cluster after the user has entered its name, because this cannot be undone."""
    cluster = selectors.cluster_get(name)
    wrong = False
    if request.method == "POST":
        if request.POST.get("name", "").strip() == cluster.name:
            services.cluster_delete(user=request.user, cluster=cluster)
            messages.success(
                request, gettext("Cluster %(name)s deleted, with its snapshots and credentials.") % {"name": name}
            )
            return redirect("clusters")
        wrong = True
    return render(
        request, "clusters/cluster_delete.html", {"cluster": cluster, "wrong": wrong}, status=400 if wrong else 200
    )


@never_cache
@sensitive_post_parameters()
@requires(Action.ADMINISTER, site=False)
def replace_credentials(request: PageRequest, name: str) -> HttpResponse:
    """Replace the stored credentials after a test of the new ones."""
    cluster = selectors.cluster_get(name)
    services.credentials_replaceable(cluster)
    form = CredentialsForm(*_form_data(request))
    if request.method == "POST" and form.is_valid():
        try:
            services.cluster_credentials_replace(user=request.user, cluster=cluster, **form.cleaned_data)
        except ApplicationError as error:
            add_errors(form, error)
        else:
            messages.success(
                request,
                gettext("Credentials of %(cluster)s replaced. Nothing had to be stopped.") % {"cluster": cluster.name},
            )
            return redirect("cluster", cluster.name)
    if form.errors:
        form.tell_emptied()
    context = {"form": form, "cluster": cluster}
    return render(request, "clusters/cluster_credentials.html", context, status=400 if form.errors else 200)


@require_POST
@requires(Action.EDIT, site=True)
def load_demo(request: PageRequest) -> HttpResponse:
    cluster = services.demo_load(user=request.user)
    return redirect("cluster", cluster.name)


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
@vary_on_headers("HX-Request")
def show_node_manifest(request: PageRequest, cluster: str, node: str) -> HttpResponse:
    """Show a node of a snapshot as YAML: a part of its page, or plain text."""
    return _render_manifest(request, cluster, "Node", node)


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
@vary_on_headers("HX-Request")
def show_pod_manifest(request: PageRequest, cluster: str, namespace: str, pod: str) -> HttpResponse:
    """Show a pod of a snapshot as YAML: a part of its page, or plain text."""
    return _render_manifest(request, cluster, "Pod", pod, namespace)


@heavy
@require_safe
@requires(Action.VIEW)
@page_part
@vary_on_headers("HX-Request")
def show_workload_manifest(request: PageRequest, cluster: str, namespace: str, workload: str) -> HttpResponse:
    """Show a Workload of Kueue as YAML: a part of its page, or plain text."""
    return _render_manifest(request, cluster, "Workload", workload, namespace)


def _render_manifest(request: PageRequest, cluster: str, kind: str, name: str, namespace: str = "") -> HttpResponse:
    snapshot = selectors.snapshot_of(selectors.cluster_get(cluster), request.GET.dict())
    if snapshot is None:
        raise NotFound(f"Cluster {cluster} has not been read yet.")
    if namespace:
        pod_seen(snapshot, f"{namespace}/{name}", kind)
    manifest = object_manifest(snapshot, kind, name, namespace)
    if request.htmx:
        return render(request, "clusters/manifest.html", {"manifest": manifest})
    return HttpResponse(manifest, content_type="text/plain; charset=utf-8")
