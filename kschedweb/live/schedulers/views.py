"""The pages of live schedulers; those of their decisions are in decisions/views.py."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import require_action, requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import CONNECTED
from kschedweb.decisions.inquiring.views import progress_context
from kschedweb.decisions.models import Question
from kschedweb.live.schedulers import charts, missing_rights, selectors, services
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
from kschedweb.live.schedulers.rollout import RollOutReview, review_roll_out
from kschedweb.live.schedulers.rollout_moves import ask_moves
from kschedweb.live.schedulers.status import list_statuses, status_of
from kschedweb.live.schedulers.tables import DECISIONS
from kschedweb.policies.revisions.views import line_diff
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_rows
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import add_errors, page_part
from kschedweb.web.pagination import MOST_LOOKED_AT, in_pieces, page_shown

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest

# Sizes of the cluster, which stand before all other counts.
SIZES = ("nodes", "pods")
# New decisions that are counted one by one; beyond that the page says "more than 1,000 new".
MOST_NEW = 1000
MOST_EXPORTED = 100_000


@require_safe
@requires(Action.VIEW, in_part=True)
def list_live(request: PageRequest) -> HttpResponse:
    """Show every live scheduler of every cluster."""
    statuses = list_statuses(selectors.live_list())
    context = {
        "statuses": statuses,
        "working": sum(status.tone == "green" for status in statuses),
        "connected": Cluster.objects.filter(source__in=CONNECTED).exists(),
    }
    template = "live/schedulers/table.html" if request.htmx else "live/schedulers/list.html"
    return render(request, template, context)


@requires(Action.ADMINISTER, site=False)
def create_live(request: PageRequest) -> HttpResponse:
    form = NewLiveForm(request.POST or None, initial={"cluster": request.GET.get("cluster", ""), "policy": "default"})
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            values = form.cleaned_data
            try:
                live = services.live_create(
                    user=request.user,
                    cluster=values["cluster"],
                    scheduler_name=values["scheduler_name"],
                    policy=values["policy"],
                    revision=values["revision"],
                    mode=values["mode"],
                    **form.settings,
                )
            except ApplicationError as error:
                add_errors(form, _beside_policy(error))
                status = error.status
            else:
                messages.success(
                    request,
                    gettext("%(scheduler_name)s created. It needs these rights in %(cluster)s.")
                    % {"scheduler_name": live.scheduler_name, "cluster": live.cluster.name},
                )
                return redirect("live-setup", live.pk)
    return render(request, "live/schedulers/new.html", {"form": form}, status=status)


def _beside_policy(error: ApplicationError) -> ApplicationError:
    """Move an error inside the policy's document to the field ``policy``, with its path in the message."""
    for item in error.errors:
        if item["path"].startswith("extenders["):
            item["message"], item["path"] = f"{item['path']}: {item['message']}", "policy"
    return error


@require_safe
@requires(Action.VIEW, in_part=True)
@vary_on_headers("HX-Request")
def show_live(request: PageRequest, live_id: UUID) -> HttpResponseBase:
    """Show the present state of a live scheduler, its last minutes, and its decisions."""
    live = selectors.live_get(live_id)
    filtered = DecisionFilter(request.GET, queryset=selectors.decision_list(live))
    if (form := request.GET.get("format")) in FORMATS:
        rows = in_pieces(filtered.qs, DECISIONS.fields, MOST_EXPORTED, indexed_rows=filtered.indexed_rows)
        return export_rows(form, f"{live.cluster.name}-{live.scheduler_name}-decisions", DECISIONS.head, rows)
    page = page_shown(request, filtered.qs, indexed_rows=filtered.indexed_rows)
    context = {
        "filter": filtered,
        "page": page,
        "filtered": any(request.GET.get(name) for name in filtered.filters),
        "opened": timezone.now(),
        **_now_context(request, live, None),
    }
    if request.htmx:
        return render(request, "live/schedulers/decision_list_update.html", context)
    return render(request, "live/schedulers/scheduler.html", context | _figures_context(live))


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_now(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Show the part with the present state, and the number of decisions since the page was opened."""
    live = selectors.live_get(live_id)
    opened = _opened_moment(request)
    context = {"opened": opened, **_now_context(request, live, opened)}
    return render(request, "live/schedulers/status.html", context)


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_figures(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Show the part with the figures of the last minutes."""
    live = selectors.live_get(live_id)
    return render(request, "live/schedulers/figures.html", {"live": live, **_figures_context(live)})


def _now_context(request: HttpRequest, live: LiveScheduler, opened: datetime | None) -> dict[str, object]:
    new = 0
    if opened is not None:
        filtered = DecisionFilter(request.GET, queryset=selectors.decision_list(live))
        new = _count_new(filtered, opened)
    status = status_of(live)
    filters_query = urlencode({name: value for name in DecisionFilter.base_filters if (value := request.GET.get(name))})
    return {
        "live": live,
        "revision": selectors.revision_in_force(live),
        "release": selectors.release_in_force(live),
        "status": status,
        "candidates": [*([status.leader] if status.leader else []), *status.standbys],
        "counts": _queue_counts(live, status.depths),
        "new": min(new, MOST_NEW),
        "many": new > MOST_NEW,
        "filters_query": filters_query,
        "query": f"?{filters_query}" if filters_query else "",
    }


def _count_new(filtered: DecisionFilter, since: datetime) -> int:
    """Count the matching decisions after ``since``, up to MOST_NEW and as far as a page looks."""
    rows = filtered.qs.filter(at__gt=since)
    if filtered.indexed_rows is not None:
        times = filtered.indexed_rows.filter(at__gt=since).values_list("at", flat=True)
        for beyond in times[MOST_LOOKED_AT : MOST_LOOKED_AT + 1]:
            rows = rows.filter(at__gt=beyond)
    return rows[: MOST_NEW + 1].count()


def _queue_counts(live: LiveScheduler, depths: dict[str, int]) -> list[tuple[str, int]]:
    """Return pods by queue; for other modes than scheduling, the counts that the process reports."""
    if live.mode == Mode.SCHEDULING:
        return [(str(words), depths.get(name, 0)) for name, words in charts.QUEUES.items()]
    ordered = [*(name for name in SIZES if name in depths), *sorted(depths.keys() - set(SIZES))]
    return [(name, depths[name]) for name in ordered if depths[name] or name in SIZES]


def _figures_context(live: LiveScheduler) -> dict[str, object]:
    leader = selectors.find_leader(live)
    history = charts.read_samples(leader.history) if leader and live.mode == Mode.SCHEDULING else []
    return {"depths": charts.depths_chart(history), "speed": charts.speed_chart(history)}


def _opened_moment(request: HttpRequest) -> datetime | None:
    try:
        moment = parse_datetime(request.GET.get("opened", ""))
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo else None


@requires(Action.ADMINISTER, site=False)
def change_live(request: PageRequest, live_id: UUID) -> HttpResponse:
    live = selectors.live_get(live_id)
    form = LiveForm(request.POST or None, initial=LiveForm.values(live))
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                services.live_change(user=request.user, live=live, **form.settings)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
            else:
                messages.success(request, gettext("Saved. The change takes effect within a second."))
                return redirect("live-scheduler", live.pk)
    return render(request, "live/schedulers/change.html", {"live": live, "form": form}, status=status)


@heavy
@requires(Action.ADMINISTER, site=False)
def roll_out_live(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Show what another revision would change. A POST rolls it out, unless another one is in force by then."""
    live = selectors.live_get(live_id)
    is_asked = request.method == "POST"
    form = RollOutForm({"policy": live.policy.name, **(request.POST if is_asked else request.GET).dict()})
    context: dict[str, object] = {"live": live, "form": form, "revision": selectors.revision_in_force(live)}
    if not form.is_valid():
        return render(request, "live/schedulers/rollout.html", context, status=400)
    after, expected, status = form.cleaned_data["revision"], form.cleaned_data["expected"], 200
    if is_asked:
        try:
            if expected is None:
                raise ApplicationError("The page did not say which revision was at work: look at what changes first.")
            services.live_roll_out(user=request.user, live=live, revision=after, expected=expected)
        except ApplicationError as error:
            live, status = selectors.live_get(live_id), error.status
            context |= {"live": live, "refused": error, "revision": selectors.revision_in_force(live)}
        else:
            messages.success(
                request,
                gettext("Revision %(number)s of %(policy)s takes effect within a second.")
                % {"number": after.number, "policy": after.policy.name},
            )
            return redirect("live-scheduler", live.pk)
    reviewed = review_roll_out(live, after)
    query = {"policy": after.policy.name, "revision": after.number, "effect": "shown"}
    context |= {"review": reviewed, "query": urlencode(query), **_documents_context(reviewed)}
    if effect := request.GET.get("effect"):
        answer = ask_moves(request.user, live, after, everyone=effect == "all")
        more = "" if effect == "all" else urlencode(query | {"effect": "all"})
        context |= {"shows_moves": True, "more": more}
        context |= progress_context(request, answer) if isinstance(answer, Question) else {"moves": answer}
    return render(request, "live/schedulers/rollout.html", context, status=status)


def _documents_context(reviewed: RollOutReview) -> dict[str, object]:
    """Return both documents, compared line by line."""
    old, new = (f"{revision.policy.name} revision {revision.number}" for revision in (reviewed.before, reviewed.after))
    return {
        "old_title": old,
        "new_title": new,
        **line_diff(reviewed.before.document, reviewed.after.document, old, new),
    }


@requires(Action.ADMINISTER, site=False)
def switch_mode(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Explain a mode before it is switched to; a POST switches."""
    live = selectors.live_get(live_id)
    form = ModeForm(request.POST or request.GET or None)
    if not form.is_valid():
        choices = [(choice.value, choice.label, words) for choice, words in MODE_WORDS.items()]
        return render(request, "live/schedulers/modes.html", {"live": live, "choices": choices})
    chosen_mode = Mode(form.cleaned_data["mode"])
    if request.method == "POST":
        try:
            services.live_set_mode(user=request.user, live=live, mode=chosen_mode)
        except ApplicationError as error:
            messages.error(request, error.detail)
        else:
            messages.success(
                request,
                gettext("%(scheduler)s is now in mode %(mode)s.")
                % {"scheduler": live.scheduler_name, "mode": chosen_mode.label.lower()},
            )
        return redirect("live-scheduler", live.pk)
    context = {
        "live": live,
        "chosen_mode": chosen_mode,
        "words": MODE_WORDS[chosen_mode],
        "status": status_of(live),
        "revision": selectors.revision_in_force(live),
    }
    return render(request, "live/schedulers/mode.html", context)


@requires(Action.VIEW)
def show_setup(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Show the rights that a mode needs as manifests. A POST asks the cluster which of them are missing."""
    if request.method == "POST":
        require_action(request.user, Action.EDIT)
    live = selectors.live_get(live_id)
    form = NeedsForm(request.POST or request.GET or None)
    usual = live.mode if live.mode != Mode.OFF else Mode.SCHEDULING
    chosen_mode = form.cleaned_data["mode"] if form.is_valid() else usual
    context: dict[str, object] = {
        "live": live,
        "chosen_mode": chosen_mode,
        "modes": [(choice.value, choice.label) for choice in Mode if choice != Mode.OFF],
        "manifest": manifest_text(missing_rights.needs_of(live, chosen_mode)),
    }
    if request.method == "POST":
        try:
            context |= {"checked": True, "missing": missing_rights.missing_rights(live, chosen_mode)}
        except ApplicationError as error:
            context["error"] = error.detail
    return render(request, "live/schedulers/rights.html" if request.htmx else "live/schedulers/setup.html", context)


@require_POST
@requires(Action.EDIT)
def run_command(request: PageRequest, live_id: UUID, command: str) -> HttpResponse:
    """Run a command: pause, resume, step or reload."""
    live = selectors.live_get(live_id)
    try:
        messages.success(request, _run_live_command(request, live, command))
    except ApplicationError as error:
        messages.error(request, error.detail)
    return redirect("live-scheduler", live.pk)


def _run_live_command(request: PageRequest, live: LiveScheduler, command: str) -> str:
    """Run a command, and return the sentence that confirms it."""
    if command == "pause":
        services.live_pause(user=request.user, live=live)
        return "Paused: no further pods are tried. Pods that were decided before are still bound."
    if command == "resume":
        services.live_resume(user=request.user, live=live)
        return "Resumed."
    if command == "step":
        form = StepForm(request.POST)
        if not form.is_valid():
            raise ApplicationError(f"Pods: {form.errors['pods'].get_json_data()[0]['message']}")
        pods = form.cleaned_data["pods"]
        services.live_step(user=request.user, live=live, pods=pods)
        return "The next pod is tried." if pods == 1 else f"The next {pods} pods are tried."
    if command == "reload":
        services.live_reload(user=request.user, live=live)
        return "The cluster is listed anew."
    raise Http404("There is no such command.")


@requires(Action.ADMINISTER, site=False)
def delete_live(request: PageRequest, live_id: UUID) -> HttpResponse:
    """Delete it after the person typed its name: its decisions do not come back."""
    live = selectors.live_get(live_id)
    wrong = ""
    if request.method == "POST":
        if request.POST.get("name", "").strip() != live.scheduler_name:
            wrong = f"Type {live.scheduler_name} to delete it."
        else:
            try:
                services.live_delete(user=request.user, live=live)
            except ApplicationError as error:
                wrong = error.detail
            else:
                messages.success(
                    request,
                    gettext("%(scheduler_name)s deleted, with its decisions.")
                    % {"scheduler_name": live.scheduler_name},
                )
                return redirect("live")
    context = {"live": live, "wrong": wrong}
    return render(request, "live/schedulers/delete.html", context, status=400 if wrong else 200)
