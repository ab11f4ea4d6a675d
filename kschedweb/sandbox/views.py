"""The page of the sandbox: its time, what people create in it, and what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import messages
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.models import ClusterSource
from kschedweb.live.schedulers.selectors import decisions_of_pod, live_list
from kschedweb.sandbox import selectors, services
from kschedweb.sandbox.forms import CreateForm, PaceForm
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import add_errors, page_part, run_and_notify

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster

# Happenings of pods that the overview lists.
MOST_OF_PODS = 8


def _render_page(request: PageRequest, form: CreateForm, status: int = 200) -> HttpResponse:
    cluster = selectors.list_sandboxes().first()
    can_reset = selectors.can_be_set_up_anew()
    if cluster is None:
        if not can_reset:
            # Raises the error that there is no sandbox.
            selectors.sandbox_get()
        trouble = selectors.find_trouble() or "The sandbox was not set up yet."
        return render(request, "sandbox/sandbox.html", {"trouble": trouble, "can_reset": can_reset})
    context: dict[str, object] = {
        "cluster": cluster,
        "form": form,
        "schedulers": live_list().filter(cluster=cluster),
        "trouble": selectors.find_trouble(),
        "can_reset": can_reset,
    }
    try:
        pace = selectors.get_pace()
        context |= {
            "pace": pace,
            "pace_form": PaceForm(initial={"speed": pace.speed}),
            "created": selectors.list_created(cluster),
            "happenings": (happenings := selectors.list_happenings()),
            "of_pods": _list_of_pods(happenings),
            "newest": max((happening.version for happening in happenings), default=0),
        }
    except ApplicationError as error:
        context["trouble"] = context["trouble"] or error.detail
    return render(request, "sandbox/sandbox.html", context, status=status)


def life_context(cluster: Cluster) -> dict[str, object]:
    """Return the context of sandbox/on_overview.html; {} for another cluster, or if the sandbox does not answer."""
    if cluster.source != ClusterSource.SANDBOX or not settings.SANDBOX_SERVER:
        return {}
    try:
        pace = selectors.get_pace()
        return {
            "pace": pace,
            "pace_form": PaceForm(initial={"speed": pace.speed}),
            "form": CreateForm(),
            "created": selectors.list_created(cluster),
            "of_pods": _list_of_pods(selectors.list_happenings()),
        }
    except ApplicationError:
        return {}


def _list_of_pods(happenings: Iterable[selectors.Happening]) -> list[selectors.Happening]:
    """Return the newest happenings of pods, which show them coming and going."""
    return [happening for happening in happenings if happening.kind == "Pod"][:MOST_OF_PODS]


@never_cache
@require_safe
@requires(Action.VIEW)
def show_sandbox(request: PageRequest) -> HttpResponse:
    return _render_page(request, CreateForm())


@page_part
@never_cache
@require_safe
@requires(Action.VIEW)
def show_news(request: PageRequest) -> HttpResponse:
    """Show how many events came since those that a page shows."""
    selectors.sandbox_get()
    since = request.GET.get("since", "")
    count = selectors.happenings_since(int(since) if since.isdecimal() else 0)
    return render(request, "sandbox/news.html", {"count": count})


@never_cache
@require_safe
@requires(Action.VIEW)
def show_object(request: PageRequest, kind: str, namespace: str, name: str) -> HttpResponse:
    """Show a pod or a workload of the sandbox, its pods, and its events."""
    cluster = selectors.sandbox_get()
    details = selectors.get_details(cluster, kind, namespace, name)
    context = {
        "cluster": cluster,
        "row": details.row,
        "pods": details.pods,
        "happenings": details.happenings,
        "decision": decisions_of_pod(cluster, namespace, name).order_by("-at").first() if kind == "Pod" else None,
    }
    return render(request, "sandbox/object.html", context)


@require_POST
@requires(Action.EDIT)
def create_objects(request: PageRequest) -> HttpResponse:
    form = CreateForm(request.POST)
    if not form.is_valid():
        return _render_page(request, form, 400)
    try:
        names = services.objects_create(user=request.user, cluster=selectors.sandbox_get(), **form.cleaned_data)
    except ApplicationError as error:
        add_errors(form, error)
        return _render_page(request, form, error.status)
    messages.success(request, gettext("Created: %(names)s.") % {"names": ", ".join(names)})
    return _redirect_back(request)


@require_POST
@requires(Action.ADMINISTER)
def reset_sandbox(request: PageRequest) -> HttpResponse:
    """Set the sandbox up anew."""
    act = lambda: services.sandbox_set_up_anew(user=request.user)  # noqa: E731
    run_and_notify(request, act, "The sandbox was set up anew.")
    return redirect("sandbox")


@require_POST
@requires(Action.EDIT)
def set_pace(request: PageRequest) -> HttpResponse:
    """Pause the sandbox's time, let it go on, or set its speed."""
    cluster, action = selectors.sandbox_get(), request.POST.get("do", "")
    if action in ("pause", "resume"):
        paused = action == "pause"
        message = "The sandbox is paused." if paused else "The sandbox runs again."
        run_and_notify(request, lambda: services.pace_set(user=request.user, cluster=cluster, paused=paused), message)
    else:
        form = PaceForm(request.POST)
        if form.is_valid():
            speed = form.cleaned_data["speed"]
            act = lambda: services.pace_set(user=request.user, cluster=cluster, speed=speed)  # noqa: E731
            run_and_notify(request, act, f"The sandbox runs at {speed}×.")
        else:
            messages.error(request, gettext("Choose one of the speeds."))
    return _redirect_back(request)


def _redirect_back(request: PageRequest) -> HttpResponse:
    """Redirect to the page that sent a form: the overview of the sandbox, or the page of its controls."""
    if request.POST.get("back") == "overview":
        return redirect(reverse("overview", query={"cluster": selectors.sandbox_get().name}))
    return redirect("sandbox")


@require_POST
@requires(Action.EDIT)
def delete_object(request: PageRequest) -> HttpResponse:
    """Delete one object of the sandbox."""
    fields = {name: request.POST.get(name, "") for name in ("kind", "api_version", "namespace", "name")}
    cluster = selectors.sandbox_get()
    message = f"{fields['kind']} {fields['namespace']}/{fields['name']} is being deleted."
    run_and_notify(request, lambda: services.object_delete(user=request.user, cluster=cluster, **fields), message)
    return redirect("sandbox")
