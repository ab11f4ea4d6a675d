"""The pages of live schedulers; those of their decisions are in decision_views.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import demand, requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.decisions.inquiring.views import progress
from kschedweb.decisions.models import Question
from kschedweb.live.schedulers import access, charts, selectors, services
from kschedweb.live.schedulers.decisions.filters import DecisionFilter
from kschedweb.live.schedulers.forms import (
    MODE_WORDS,
    LiveForm,
    ModeForm,
    NeedsForm,
    NewLiveForm,
    RollOutForm,
    StepForm,
)
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.rbac import manifest_text
from kschedweb.live.schedulers.rollout import Review, review
from kschedweb.live.schedulers.rollout_asking import moves
from kschedweb.live.schedulers.status import status_of, statuses
from kschedweb.policies.revisions.views import line_diff
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import add_errors, part
from kschedweb.web.pagination import MOST_LOOKED_AT, in_pieces, page_shown

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest

SIZES = ("nodes", "pods")  # a cluster's own, which stand before what else is counted
MOST_NEW = 1000  # counted one by one; beyond it "more than 1,000 new"
MOST_EXPORTED = 100_000
HEAD = (
    "at", "namespace", "name", "uid", "attempt", "result", "node", "evaluated", "feasible", "margin", "drawn",
    "latency", "message", "ended_at", "engine",
)  # fmt: skip


@require_safe
@requires(Action.VIEW, in_part=True)
def live(request: PageRequest) -> HttpResponse:
    """Every live scheduler of every cluster."""
    found = statuses(selectors.live_list())
    context = {
        "statuses": found,
        "working": sum(one.tone == "green" for one in found),
        "connected": Cluster.objects.filter(source__in=CONNECTED).exists(),
    }
    template = "live/schedulers/table.html" if request.htmx else "live/schedulers/list.html"
    return render(request, template, context)


@requires(Action.ADMINISTER, site=False)
def new(request: PageRequest) -> HttpResponse:
    form = NewLiveForm(request.POST or None, initial={"cluster": request.GET.get("cluster", ""), "policy": "default"})
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            asked = form.cleaned_data
            try:
                made = services.live_create(
                    user=request.user,
                    cluster=asked["cluster"],
                    scheduler_name=asked["scheduler_name"],
                    policy=asked["policy"],
                    revision=asked["revision"],
                    mode=asked["mode"],
                    **form.settings,
                )
            except ApplicationError as error:
                add_errors(form, _beside_policy(error))
                status = error.status
            else:
                messages.success(
                    request, f"{made.scheduler_name} created. It needs these rights in {made.cluster.name}."
                )
                return redirect("live-setup", made.pk)
    return render(request, "live/schedulers/new.html", {"form": form}, status=status)


def _beside_policy(error: ApplicationError) -> ApplicationError:
    """What is wrong inside of the policy's document stands beside the policy, with its path."""
    for item in error.errors:
        if item["path"].startswith("extenders["):
            item["message"], item["path"] = f"{item['path']}: {item['message']}", "policy"
    return error


@require_safe
@requires(Action.VIEW, in_part=True)
@vary_on_headers("HX-Request")
def scheduler(request: PageRequest, live_id: UUID) -> HttpResponseBase:
    """How one live scheduler is, over the last minutes, and what it decided."""
    found = selectors.live_get(live_id)
    filtered = DecisionFilter(request.GET, queryset=selectors.decision_list(found))
    if (form := request.GET.get("format")) in FORMATS:
        rows = in_pieces(filtered.qs, HEAD, MOST_EXPORTED, within=filtered.within)
        return export(form, f"{found.cluster.name}-{found.scheduler_name}-decisions", HEAD, rows)
    page = page_shown(request, filtered.qs, within=filtered.within)
    context = {
        "filter": filtered,
        "page": page,
        "filtered": any(request.GET.get(name) for name in filtered.filters),
        "opened": timezone.now(),
        **_now(request, found, None),
    }
    if request.htmx:
        return render(request, "live/schedulers/shown.html", context)
    return render(request, "live/schedulers/scheduler.html", context | _figures(found))


@require_safe
@requires(Action.VIEW, in_part=True)
@part
def now(request: PageRequest, live_id: UUID) -> HttpResponse:
    """The part that says how it is now, and how many decisions came since the page was opened."""
    found = selectors.live_get(live_id)
    opened = _moment(request)
    context = {"opened": opened, **_now(request, found, opened)}
    return render(request, "live/schedulers/now.html", context)


@require_safe
@requires(Action.VIEW, in_part=True)
@part
def figures(request: PageRequest, live_id: UUID) -> HttpResponse:
    """The part with the figures of the last minutes."""
    found = selectors.live_get(live_id)
    return render(request, "live/schedulers/figures.html", {"live": found, **_figures(found)})


def _now(request: HttpRequest, found: LiveScheduler, opened: datetime | None) -> dict[str, Any]:
    new = 0
    if opened is not None:
        filtered = DecisionFilter(request.GET, queryset=selectors.decision_list(found))
        new = _new(filtered, opened)
    status = status_of(found)
    kept = urlencode({name: value for name in DecisionFilter.base_filters if (value := request.GET.get(name))})
    return {
        "live": found,
        "revision": selectors.revision_in_force(found),
        "release": selectors.release_in_force(found),
        "status": status,
        "candidates": [*([status.leader] if status.leader else []), *status.standbys],
        "counts": _counts(found, status.depths),
        "new": min(new, MOST_NEW),
        "many": new > MOST_NEW,
        "kept": kept,
        "query": f"?{kept}" if kept else "",
    }


def _new(filtered: DecisionFilter, since: datetime) -> int:
    """How many decisions that match came after ``since``; beyond MOST_NEW, or what a page looks at, not all of them."""
    rows = filtered.qs.filter(at__gt=since)
    if filtered.within is not None:
        times = filtered.within.filter(at__gt=since).values_list("at", flat=True)
        for beyond in times[MOST_LOOKED_AT : MOST_LOOKED_AT + 1]:
            rows = rows.filter(at__gt=beyond)
    return rows[: MOST_NEW + 1].count()


def _counts(found: LiveScheduler, depths: dict[str, int]) -> list[tuple[str, int]]:
    """Pods by queue; of what is no scheduler, whatever it counts."""
    if found.mode == Mode.SCHEDULING:
        return [(str(words), depths.get(name, 0)) for name, words in charts.QUEUES.items()]
    ordered = [*(name for name in SIZES if name in depths), *sorted(depths.keys() - set(SIZES))]
    return [(name, depths[name]) for name in ordered if depths[name] or name in SIZES]


def _figures(found: LiveScheduler) -> dict[str, Any]:
    leader = selectors.leader(found)
    history = charts.samples(leader.history) if leader and found.mode == Mode.SCHEDULING else []
    return {"depths": charts.depths(history), "speed": charts.speed(history)}


def _moment(request: HttpRequest) -> datetime | None:
    try:
        found = parse_datetime(request.GET.get("opened", ""))
    except ValueError:
        return None
    return found if found is not None and found.tzinfo else None


@requires(Action.ADMINISTER, site=False)
def change(request: PageRequest, live_id: UUID) -> HttpResponse:
    found = selectors.live_get(live_id)
    form = LiveForm(request.POST or None, initial=LiveForm.values(found))
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                services.live_change(user=request.user, live=found, **form.settings)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
            else:
                messages.success(request, "Saved. The change takes effect within a second.")
                return redirect("live-scheduler", found.pk)
    return render(request, "live/schedulers/change.html", {"live": found, "form": form}, status=status)


@heavy
@requires(Action.ADMINISTER, site=False)
def rollout(request: PageRequest, live_id: UUID) -> HttpResponse:
    """What another revision would change; a POST has it rolled out, unless another one is at work by then."""
    found = selectors.live_get(live_id)
    is_asked = request.method == "POST"
    form = RollOutForm({"policy": found.policy.name, **(request.POST if is_asked else request.GET).dict()})
    context: dict[str, Any] = {"live": found, "form": form, "revision": selectors.revision_in_force(found)}
    if not form.is_valid():
        return render(request, "live/schedulers/rollout.html", context, status=400)
    after, expected, status = form.cleaned_data["revision"], form.cleaned_data["expected"], 200
    if is_asked:
        try:
            if expected is None:
                raise ApplicationError("The page did not say which revision was at work: look at what changes first.")
            services.live_roll_out(user=request.user, live=found, revision=after, expected=expected)
        except ApplicationError as error:
            found, status = selectors.live_get(live_id), error.status
            context |= {"live": found, "refused": error, "revision": selectors.revision_in_force(found)}
        else:
            messages.success(request, f"Revision {after.number} of {after.policy.name} takes effect within a second.")
            return redirect("live-scheduler", found.pk)
    seen = review(found, after)
    query = {"policy": after.policy.name, "revision": after.number, "effect": "shown"}
    context |= {"review": seen, "query": urlencode(query), **_documents(seen)}
    if asked := request.GET.get("effect"):
        shown = moves(request.user, found, after, everyone=asked == "all")
        more = "" if asked == "all" else urlencode(query | {"effect": "all"})
        context |= {"asked": True, "more": more}
        context |= progress(request, shown) if isinstance(shown, Question) else {"moves": shown}
    return render(request, "live/schedulers/rollout.html", context, status=status)


def _documents(seen: Review) -> dict[str, Any]:
    """Both documents, line by line."""
    old, new = (f"{one.policy.name} revision {one.number}" for one in (seen.before, seen.after))
    return {"old_title": old, "new_title": new, **line_diff(seen.before.document, seen.after.document, old, new)}


@requires(Action.ADMINISTER, site=False)
def mode(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Says what a mode does before it is switched to."""
    found = selectors.live_get(live_id)
    form = ModeForm(request.POST or request.GET or None)
    if not form.is_valid():
        choices = [(one.value, one.label, words) for one, words in MODE_WORDS.items()]
        return render(request, "live/schedulers/modes.html", {"live": found, "choices": choices})
    asked = Mode(form.cleaned_data["mode"])
    if request.method == "POST":
        try:
            services.live_set_mode(user=request.user, live=found, mode=asked)
        except ApplicationError as error:
            messages.error(request, error.detail)
        else:
            messages.success(request, f"{found.scheduler_name} is switched to {asked.label.lower()}.")
        return redirect("live-scheduler", found.pk)
    context = {
        "live": found,
        "asked": asked,
        "words": MODE_WORDS[asked],
        "status": status_of(found),
        "revision": selectors.revision_in_force(found),
    }
    return render(request, "live/schedulers/mode.html", context)


@requires(Action.VIEW)
def setup(request: PageRequest, live_id: UUID) -> HttpResponse:
    """What the cluster has to allow for a mode, as manifests; a POST asks the cluster what of it is missing."""
    if request.method == "POST":
        demand(request.user, Action.EDIT)
    found = selectors.live_get(live_id)
    form = NeedsForm(request.POST or request.GET or None)
    usual = found.mode if found.mode != Mode.OFF else Mode.SCHEDULING
    asked = form.cleaned_data["mode"] if form.is_valid() else usual
    context: dict[str, Any] = {
        "live": found,
        "asked": asked,
        "modes": [(one.value, one.label) for one in Mode if one != Mode.OFF],
        "manifest": manifest_text(access.needs_of(found, asked)),
    }
    if request.method == "POST":
        try:
            context |= {"checked": True, "missing": access.missing(found, asked)}
        except ApplicationError as error:
            context["error"] = error.detail
    return render(request, "live/schedulers/rights.html" if request.htmx else "live/schedulers/setup.html", context)


@require_POST
@requires(Action.EDIT)
def command(request: PageRequest, live_id: UUID, what: str) -> HttpResponse:
    """Pause, resume, step or reload."""
    found = selectors.live_get(live_id)
    try:
        messages.success(request, _do(request, found, what))
    except ApplicationError as error:
        messages.error(request, error.detail)
    return redirect("live-scheduler", found.pk)


def _do(request: PageRequest, found: LiveScheduler, what: str) -> str:
    """Do ``what``; the sentence that tells it."""
    if what == "pause":
        services.live_pause(user=request.user, live=found)
        return "Paused: no further pods are tried. Pods that were decided before are still bound."
    if what == "resume":
        services.live_resume(user=request.user, live=found)
        return "Resumed."
    if what == "step":
        form = StepForm(request.POST)
        if not form.is_valid():
            raise ApplicationError(f"Pods: {form.errors['pods'].get_json_data()[0]['message']}")
        pods = form.cleaned_data["pods"]
        services.live_step(user=request.user, live=found, pods=pods)
        return "The next pod is tried." if pods == 1 else f"The next {pods} pods are tried."
    if what == "reload":
        services.live_reload(user=request.user, live=found)
        return "The cluster is listed anew."
    raise Http404("There is no such command.")


@requires(Action.ADMINISTER, site=False)
def delete(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Asks for the name first: its decisions do not come back."""
    found = selectors.live_get(live_id)
    wrong = ""
    if request.method == "POST":
        if request.POST.get("name", "").strip() != found.scheduler_name:
            wrong = f"Type {found.scheduler_name} to delete it."
        else:
            try:
                services.live_delete(user=request.user, live=found)
            except ApplicationError as error:
                wrong = error.detail
            else:
                messages.success(request, f"{found.scheduler_name} deleted, with its decisions.")
                return redirect("live")
    context = {"live": found, "wrong": wrong}
    return render(request, "live/schedulers/delete.html", context, status=400 if wrong else 200)
