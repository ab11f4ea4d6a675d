"""The pages of the gate: the form with commands to paste, and a verdict."""

from __future__ import annotations

from dataclasses import replace
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
from kschedweb.engine.releases import CURRENT, ReleaseError
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import rendering
from kschedweb.engine.studies.measure.registry import rank_of
from kschedweb.jobs.models import ENDED
from kschedweb.playground.gate import selectors, services
from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.forms import GateForm
from kschedweb.playground.gate.words import about_scenario, about_snapshot, amount_or_dash, measured
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.validation import process_of, release_asked
from kschedweb.web.errors import ApplicationError
from kschedweb.web.news import announced, numbered_page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.config import Release
    from kschedweb.playground.gate.models import Gate
    from kschedweb.playground.gate.words import Pasted

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
    asked = form.pasted
    given: dict[str, Any] = {"thresholds": form.thresholds, "place": asked.place}
    if asked.scenario:
        revision = selectors.scenario_of(request.user, UUID(asked.scenario))
        policies = _policies(asked, cluster_version(revision))
        return services.GateRequest(*policies, **given, about=about_scenario(revision), revision=revision)
    snapshot = selectors.snapshot_of(asked.cluster)
    policies = _policies(asked, snapshot.cluster.server_version)
    return services.GateRequest(*policies, **given, about=about_snapshot(snapshot), snapshot=snapshot)


def _policies(asked: Pasted, version: str) -> tuple[engine.Policy, engine.Policy]:
    """The policy and its baseline, on a cluster of ``version``."""
    policy = _policy(asked.policy, asked.release, version, "policy")
    if asked.baseline:
        return policy, _policy(asked.baseline, asked.baseline_release, version, "baseline")
    release = _release(process_of(policy.release), asked.baseline_release, "baseline")
    return policy, engine.Policy(engine.DEFAULTS, release=release)


def _policy(named: str, release: str, version: str, path: str) -> engine.Policy:
    """The saved policy ``named``, run by ``release`` ("": its own, or that of the cluster's ``version``)."""
    revision = revision_named(named, path)
    return engine.Policy(named, revision.document, _release(process_of_run(revision, version), release, path))


def _release(process: Mapping[str, Any], release: str, path: str) -> Release:
    try:
        return release_asked(process, release)
    except ReleaseError as error:
        raise ApplicationError.at(path, str(error)) from None


def _with_releases(request: PageRequest, asked: Pasted) -> Pasted:
    """The question with the releases that answer it here, which no dump of a cluster names."""
    try:
        version = (
            cluster_version(selectors.scenario_of(request.user, UUID(asked.scenario)))
            if asked.scenario
            else selectors.snapshot_of(asked.cluster).cluster.server_version
        )
        policy, baseline = (one.release for one in _policies(asked, version))
    except ApplicationError:
        return asked
    release = "" if policy is CURRENT else policy.name
    other = baseline.name if baseline.name != policy.name else ""
    return replace(asked, release=asked.release or release, baseline_release=asked.baseline_release or other)


def _pasted(request: PageRequest, form: GateForm) -> dict[str, Any]:
    """The question to paste, and the origin of the files that the command reads."""
    pasted = _with_releases(request, form.pasted)
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
