"""The pages of sweeps."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import owned, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.studies.search.space import MOST_DIMENSIONS
from kschedweb.playground.runs.views import asked_revision
from kschedweb.playground.sweeps import charts, offers, results, selectors, services
from kschedweb.playground.sweeps.forms import BaseForm, DimensionRow, SweepForm, choices, rows, show_problems
from kschedweb.playground.sweeps.results import Results, TrialRow
from kschedweb.policies.selectors import runs
from kschedweb.web.durations import format_duration
from kschedweb.web.errors import ApplicationError, NotFound, Unprocessable
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.heavy import heavy
from kschedweb.web.news import announced, numbered_page
from kschedweb.web.pages import done

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.config import Configuration
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.sweeps.models import Sweep

PAGE_SIZE, TRIALS_SHOWN = 50, 15
SECTIONS = ("space", "objectives")  # of the form, which are no fields
NOTHING_VARIES = f"Tick what varies: from 1 to {MOST_DIMENSIONS} weights, arguments or other fields."


@require_safe
@requires(Action.VIEW)
@announced
def sweeps(request: PageRequest) -> HttpResponse:
    page = numbered_page(request, selectors.sweep_list(request.user))
    return render(request, "playground/sweeps/list.html", {"page": page})


@heavy
@requires(Action.EDIT)
def new(request: PageRequest) -> HttpResponse:
    """A new sweep: first scenario and policy (?scenario=&policy=), then dimensions and objectives."""
    posted = request.POST if request.method == "POST" else None
    revision = _asked(request) if posted is None else None
    policy = request.GET.get("policy", "") if posted is None else request.POST.get("policy", "")
    initial = {"scenario": str(revision.pk) if revision else "", "policy": policy}
    if policy and "@" not in policy:
        found = _configuration(policy)
        initial["policy"] = found[0] if found else policy
    form = SweepForm(request.user, posted, revision=revision, initial=initial)
    status = 200
    base = _configuration(initial["policy"]) if policy else None
    weighed = offers.weights(base[1]) if base else []
    listed = rows([*weighed, *(offers.arguments(base[1]) if base else [])], posted)
    chosen = choices(selectors.objectives(_revision(form, revision)), posted)
    sections: dict[str, list[str]] = {}
    if posted is not None:
        status = 400
        if form.is_valid():
            try:
                return redirect("sweep", _start(request, form, listed, chosen).pk)
            except ApplicationError as error:
                sections = _refused(form, listed, error)
                status = error.status
    count = len(weighed)
    context = {
        "form": form,
        "base": base[0] if base else "",
        "chooser": BaseForm(request.user, None, revision=revision, initial=initial),
        "weights": listed[:count],
        "arguments": listed[count:-2],
        "others": listed[-2:],
        "open": any(row.used or row.errors for row in listed[count:]),
        "choices": chosen,
        "sections": sections,
    }
    return render(request, "playground/sweeps/new.html", context, status=status)


def _asked(request: PageRequest) -> ScenarioRevision | None:
    """The scenario in the address: by its id, or by a revision's id from the first form."""
    asked = request.GET.get("scenario", "")
    if asked.isascii() and asked.isdecimal():
        return BaseForm(request.user).revisions.get(asked)
    return asked_revision(request)


def _refused(form: SweepForm, listed: Sequence[DimensionRow], error: ApplicationError) -> dict[str, list[str]]:
    """Show problems at their dimension or field; returns those of the sections ``space`` and ``objectives``."""
    left, sections = show_problems(listed, error.errors), dict[str, list[str]]()
    for item in left:
        section = item["path"].partition("[")[0]
        if section == "space" and not any(row.used for row in listed):
            sections["space"] = [NOTHING_VARIES]
        elif section in SECTIONS:
            sections.setdefault(section, []).append(item["message"])
        else:
            form.add_error(item["path"] if item["path"] in form.fields else None, item["message"])
    if sections or any(row.errors for row in listed):
        form.add_error(None, gettext("Nothing was started: see what is marked below."))
    if not form.errors:
        form.add_error(None, error.detail)
    return sections


def _configuration(policy: str) -> tuple[str, Configuration] | None:
    """The revision and configuration of a policy; ``None`` if there is none."""
    try:
        revision = revision_named(policy)
    except (Http404, NotFound, Unprocessable):
        return None
    return f"{revision.policy.name}@{revision.number}", runs(revision)


def _revision(form: SweepForm, asked: Any) -> Any:
    if asked is not None:
        return asked
    return form.revisions.get(str(form.data.get("scenario", ""))) if form.is_bound else None


def _start(request: PageRequest, form: SweepForm, listed: Any, chosen: Any) -> Sweep:
    asked = form.cleaned_data
    return services.sweep_start(
        user=request.user,
        revision=form.revision,
        policy=asked["policy"],
        space=[row.dimension() for row in listed if row.used],
        objectives=[{"measure": one.objective.name, "direction": one.direction} for one in chosen if one.chosen],
        method=asked["method"],
        trials=asked["trials"] or 0,
        seeds=asked["seeds"],
        seed=asked["seed"] or 0,
        title=asked["title"],
    )


@require_safe
@requires(Action.VIEW)
def sweep(request: PageRequest, sweep_id: UUID) -> HttpResponseBase:
    """The results of a sweep, with the progress while it runs."""
    found = selectors.sweep_get(request.user, sweep_id)
    ended = selectors.finished(found)
    context: dict[str, Any] = {
        "sweep": found,
        "ended": ended,
        "own": may_change(request.user, found),
        "left": _left(found),
    }
    if request.htmx and request.htmx.target == "progress":
        answer = render(request, "playground/sweeps/progress.html", context)
        if ended:
            answer["HX-Refresh"] = "true"  # reload the page: it has charts now
        return answer
    known = Results(found, list(selectors.trial_list(found)))
    if (form := request.GET.get("format")) in FORMATS:
        return export(form, f"sweep-{found.pk}", results.head(known), results.table(known))
    context |= _figures(known, request.GET.get("axes", ""))
    page = Paginator(known.arranged(request.GET.get("ordering", "")), TRIALS_SHOWN).get_page(request.GET.get("page"))
    context |= {
        "results": known,
        "page": page,
        "entries": [_entry(known, row) for row in page.object_list],
        "save_trial": _trial(request, known),
        "failed": [one for one in known.trials if one.state == "failed"],
        "workers": sorted({one.worker.partition(" ")[0] for one in known.trials if one.ended_at} - {""}),
        "save_as": found.policy.policy.name if found.policy else "",
        "save_name": f"{found.label.partition('@')[0][:50]}-tuned",
    }
    return render(request, "playground/sweeps/sweep.html", context)


def _entry(known: Results, row: TrialRow) -> dict[str, Any]:
    """A trial as a row of the table."""
    values = list(zip(known.text(row), known.against(row), strict=True))
    return {"row": row, "values": values, "settings": known.settings(row)}


def _trial(request: PageRequest, known: Results) -> int:
    """The trial to save: that of ?trial=, else the best one."""
    asked = request.GET.get("trial", "")
    if asked.isascii() and asked.isdecimal() and len(asked) < 6:
        return int(asked)
    return known.best.number if known.best else 0


def _figures(known: Results, axes: str) -> dict[str, Any]:
    if not known.rows:
        return {}
    count = len(known.measures)
    pairs = [(f"{first}-{second}", first, second) for first, second in combinations(range(count), 2)]
    name, first, second = next((one for one in pairs if one[0] == axes), pairs[0] if pairs else ("", 0, 0))
    titles = [
        (key, f"{known.measures[a].label} and {known.measures[b].label[:1].lower()}{known.measures[b].label[1:]}")
        for key, a, b in pairs
    ]
    return {
        "pareto": charts.pareto(known, first, second) if pairs else charts.history(known),
        "axes": name,
        "pairs": titles if len(pairs) > 1 else [],
        "sensitivity": charts.sensitivity(known),
        "curves": [(one, charts.curve(known, one)) for one in known.curves],
    }


def _left(found: Sweep) -> str:
    """The estimated time left; "" if unknown."""
    job = found.job
    if job is None or job.state != "running" or job.started_at is None:
        return ""
    done = found.trials.filter(ended_at__gte=job.started_at).count()
    open_count = found.planned - found.done - found.failed  # type: ignore[attr-defined]
    if done < 3 or open_count <= 0:
        return ""
    return format_duration((timezone.now() - job.started_at).total_seconds() / done * open_count)


def _changed(request: PageRequest, sweep_id: UUID, change: Callable[..., object], said: str) -> bool:
    """Call ``change`` and show a message with the result."""
    found = owned(request.user, selectors.sweep_get(request.user, sweep_id), "a sweep")
    return done(request, lambda: change(user=request.user, sweep=found), said)


@require_POST
@requires(Action.EDIT)
def cancel(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    _changed(request, sweep_id, services.sweep_cancel, "Sweep cancelled. Finished trials are kept.")
    return redirect("sweep", sweep_id)


@require_POST
@requires(Action.EDIT)
def resume(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    _changed(request, sweep_id, services.sweep_resume, "Sweep resumed.")
    return redirect("sweep", sweep_id)


@require_POST
@requires(Action.EDIT)
def delete(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    gone = _changed(request, sweep_id, services.sweep_delete, "Sweep and trials deleted.")
    return redirect("sweeps") if gone else redirect("sweep", sweep_id)


@require_POST
@requires(Action.EDIT)
def save(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    """Save a trial as a policy."""
    found = selectors.sweep_get(request.user, sweep_id)
    number = request.POST.get("trial", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 6):
        messages.error(request, gettext("Choose a trial by its number."))
        return redirect("sweep", sweep_id)
    address = request.build_absolute_uri(reverse("sweep", args=[found.pk]))
    try:
        made = services.sweep_policy_save(
            user=request.user,
            sweep=found,
            number=int(number),
            name=request.POST.get("name", "").strip(),
            address=address if len(address) < 200 else "",
        )
    except ApplicationError as error:
        said = "; ".join(item["message"] for item in error.errors)
        messages.error(request, f"{error.detail} {said}" if said and said != error.detail else error.detail)
        return redirect("sweep", sweep_id)
    messages.success(
        request,
        gettext("Trial %(trial)s saved as revision %(revision)s of %(policy)s.")
        % {"trial": number, "revision": made.number, "policy": made.policy.name},
    )
    return redirect("policy", made.policy.name)
