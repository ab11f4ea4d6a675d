"""The pages of the gate: the form with commands to paste, and a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import demand, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.releases import ReleaseError
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import rendering
from kschedweb.engine.studies.measure.registry import rank_of
from kschedweb.jobs.models import ENDED
from kschedweb.playground.gate import selectors, services
from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.forms import GateForm
from kschedweb.playground.gate.words import about_scenario, about_snapshot, amount_or_dash, measured
from kschedweb.policies.scope import scope_of
from kschedweb.policies.validation import process_of, release_asked
from kschedweb.web.errors import ApplicationError
from kschedweb.web.news import announced, numbered_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.config import Release
    from kschedweb.playground.gate.models import Gate

PAGE_SIZE = 20
FILES = {
    "json": ("verdict.json", "application/json"),
    "junit": ("verdict.xml", "application/xml"),
    "markdown": ("verdict.md", "text/markdown"),
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@announced
def gate(request: PageRequest) -> HttpResponse:
    """The question as a form, a command and a REST call; a POST judges, or redirects to the question's address."""
    if request.method == "POST" and request.POST.get("do") != "show":
        demand(request.user, Action.EDIT, refusal="Only editors can try a policy. The command below needs no account.")
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
    if request.method == "POST" and valid and (made := _tried(request, form)):
        return redirect("gate-verdict", made.pk)
    context: dict[str, Any] = {"form": form}
    if valid:
        context |= _pasted(request, form)
    filters = GateFilter(request.GET, queryset=selectors.gate_list(request.user).defer("verdict"))
    context["filters"] = filters
    context["page"] = numbered_page(request, filters.qs)
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
    baseline = engine.Policy(engine.DEFAULTS, release=_release(of_policy, pasted.baseline_release, "baseline"))
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
    revision = revision_named(named, path)
    process = revision.policy.dialect.started(revision.process, "")
    return engine.Policy(named, revision.document, _release(process, release, path))


def _release(process: Mapping[str, Any], release: str, path: str) -> Release:
    try:
        return release_asked(process, release)
    except ReleaseError as error:
        raise ApplicationError.at(path, str(error)) from None


def _pasted(request: PageRequest, form: GateForm) -> dict[str, Any]:
    """The question to paste, and the origin of the files that the command reads."""
    pasted = form.pasted
    found: dict[str, Any] = {"pasted": pasted, "call": pasted.call(request.build_absolute_uri(reverse("api:gate")))}
    for name in ("policy", "baseline"):
        named, _, number = getattr(pasted, name).partition("@")
        if named:
            found[f"{name}_file"] = f"{reverse('policy-download', args=[named])}?revision={number}"
    if pasted.priced:
        found["prices_file"] = reverse("costs-prices-download", args=[pasted.cluster])
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
    context["address"] = reverse("gate-verdict", args=[found.pk])
    if found.job is not None:
        context["may_cancel"] = may_change(request.user, found.job)
    if found.verdict is not None:
        context["checks"] = [_shown(check) for check in found.verdict["checks"]]
        measures = [measured(one) for one in sorted(found.verdict["measures"], key=lambda one: rank_of(one["name"]))]
        context["changed"] = [one for one in measures if one["differs"]]
        context["same"] = [one for one in measures if not one["differs"]]
    if request.htmx and not ended:
        return render(request, "parts/waits.html", context)
    response = render(request, "playground/gate/verdict.html", context)
    if request.htmx:
        response["HX-Refresh"] = "true"
    return response


def _shown(check: dict[str, Any]) -> dict[str, Any]:
    """A check with its amounts in words."""
    limits = ", ".join(f"{key} {value}" for key, value in check["limits"].items())
    values = {name: amount_or_dash(check[name], check["unit"]) for name in ("value", "baseline")}
    return {**check, **values, "limits": limits, "whole": len(check["pods"]) + check["more"]}
