"""The pages of the gate: the form with commands to paste, and a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may, may_change
from kschedweb.decisions.selectors import profiles_named
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import rendering
from kschedweb.engine.studies.gate.verdict import amount
from kschedweb.jobs.models import ENDED
from kschedweb.playground.gate import selectors, services
from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.forms import GateForm
from kschedweb.playground.gate.words import about_scenario, about_snapshot
from kschedweb.policies.scope import scope_of
from kschedweb.policies.validation import process_of, release_asked
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.accounts.typing import PageRequest
    from kschedweb.playground.gate.models import Gate

PAGE_SIZE = 20
FILES = {
    "json": ("verdict.json", "application/json"),
    "junit": ("verdict.xml", "application/xml"),
    "markdown": ("verdict.md", "text/markdown"),
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def gate(request: PageRequest) -> HttpResponse:
    """The question as a form, a command and a REST call; a POST judges, or redirects to the question's address."""
    scope = scope_of(request)
    form = GateForm(
        request.user,
        request.POST if request.method == "POST" else request.GET,
        cluster=scope.cluster.name if scope.cluster else "",
        policy=scope.policy.name if scope.policy else "",
    )
    if not form.fields["on"].choices[0][1] and not form.fields["on"].choices[1][1]:  # type: ignore[attr-defined]
        return render(request, "dashboard/nothing.html", {"noun": "cluster"})
    valid = form.is_valid()
    if request.method == "POST" and request.POST.get("do") == "show":
        return redirect(f"{reverse('gate')}?{urlencode(form.data)}")
    if request.method == "POST":
        if not may(request.user.role, Action.EDIT):
            raise PermissionDenied("An editor may try a policy; the command below needs no account.")
        if valid and (made := _tried(request, form)):
            return redirect("gate-verdict", made.pk)
    context: dict[str, Any] = {"form": form}
    if valid:
        context |= _pasted(request, form)
    filters = GateFilter(request.GET, queryset=selectors.gate_list(request.user).defer("verdict"))
    context["filters"] = filters
    context["page"] = Paginator(filters.qs, PAGE_SIZE).get_page(request.GET.get("page"))
    context["asked"] = {name: value for name, value in request.GET.items() if name in form.fields}
    status = 400 if form.errors and form.asked else 200
    return render(request, "playground/gate/gate.html", context, status=status)


def _tried(request: PageRequest, form: GateForm) -> Gate | None:
    """The gate; ``None`` if the question is invalid, and the form has the errors."""
    try:
        return services.gate_ask(user=request.user, question=_question(request, form))
    except ApplicationError as error:
        for problem in error.errors or [{"path": "", "message": error.detail}]:
            field = {"policy": "policy", "baseline": "baseline", "snapshot": "on", "scenario": "on"}.get(
                problem["path"].partition(".")[0].partition("[")[0]
            )
            if problem["path"].startswith("thresholds.measures"):
                field = "measures"
            form.add_error(field, f"It {problem['message']}." if field == "measures" else problem["message"])
        return None


def _question(request: PageRequest, form: GateForm) -> services.GateRequest:
    pasted = form.pasted
    policy = _policy(pasted.policy, pasted.release, "policy")
    of_policy = process_of(policy.release)
    baseline = engine.Policy(engine.DEFAULTS, release=release_asked(of_policy, pasted.baseline_release))
    if pasted.baseline:
        baseline = _policy(pasted.baseline, pasted.baseline_release, "baseline")
    given: dict[str, Any] = {
        "policy": policy,
        "baseline": baseline,
        "thresholds": form.thresholds,
        "place": pasted.place,
    }
    if pasted.scenario:
        revision = selectors.scenario_of(request.user, UUID(pasted.scenario))
        return services.GateRequest(**given, about=about_scenario(revision), revision=revision)
    snapshot = selectors.snapshot_of(pasted.cluster)
    return services.GateRequest(**given, about=about_snapshot(snapshot), snapshot=snapshot)


def _policy(named: str, release: str, path: str) -> engine.Policy:
    """The saved policy ``named``, run by ``release`` ("": its own)."""
    revision = profiles_named(named, path)
    return engine.Policy(named, revision.document, release_asked(revision.process, release))


def _pasted(request: PageRequest, form: GateForm) -> dict[str, Any]:
    """The question to paste, and the origin of the files that the command reads."""
    pasted = form.pasted
    found: dict[str, Any] = {"pasted": pasted, "call": pasted.call(request.build_absolute_uri(reverse("api:gate")))}
    for name in ("policy", "baseline"):
        named, _, number = getattr(pasted, name).partition("@")
        if named:
            found[f"{name}_file"] = f"{reverse('policy-download', args=[named])}?revision={number}"
    if pasted.scenario:
        found["scenario_file"] = reverse("scenario-export", args=[pasted.scenario])
    return found


@require_safe
@requires(Action.VIEW)
def verdict(request: PageRequest, gate_id: UUID) -> HttpResponse:
    """A verdict as a page or a file, or the progress of its job."""
    found = selectors.gate_get(request.user, gate_id)
    if (form := request.GET.get("format", "")) in FILES and found.verdict is not None:
        name, kind = FILES[form]
        text = rendering.render({"id": str(found.pk), **found.verdict}, form)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)
    ended = found.ended_at is not None or found.job is None or found.job.state in ENDED
    context: dict[str, Any] = {"gate": found, "verdict": found.verdict, "ended": ended, "job": found.job}
    if found.job is not None:
        context["may_cancel"] = may_change(request.user, found.job)
    if found.verdict is not None:
        context["checks"] = [_shown(check) for check in found.verdict["checks"]]
        measures = [_measured(one) for one in found.verdict["measures"]]
        context["changed"] = [one for one in measures if one["changes"]]
        context["same"] = [one for one in measures if not one["changes"]]
    if request.htmx and not ended:
        return render(request, "playground/gate/waits.html", context)
    response = render(request, "playground/gate/verdict.html", context)
    if request.htmx:
        response["HX-Refresh"] = "true"
    return response


def _shown(check: dict[str, Any]) -> dict[str, Any]:
    """A check with its amounts in words."""
    limits = ", ".join(f"{key} {value}" for key, value in check["limits"].items())
    values = {name: _amount(check[name], check["unit"]) for name in ("value", "baseline")}
    return {**check, **values, "limits": limits, "whole": len(check["pods"]) + check["more"]}


def _measured(one: dict[str, Any]) -> dict[str, Any]:
    before, after = one["baseline"], one["policy"]
    change = None if before is None or after is None else after - before
    better = bool(change) and bool(one["direction"]) and (change < 0) == (one["direction"] == "lower")  # type: ignore[operator]
    sign = "" if not change else "+" if change > 0 else "−"
    return {
        **one,
        "before": _amount(before, one["unit"]),
        "after": _amount(after, one["unit"]),
        "changes": before != after,
        "change": f"{sign}{_amount(abs(change), one['unit'])}" if change else "–",
        "better": better,
        "worse": bool(change) and bool(one["direction"]) and not better,
    }


def _amount(value: float | None, unit: str) -> str:
    return "–" if value is None else amount(value, unit)
