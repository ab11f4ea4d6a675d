"""Pages of the gate: the form with commands to paste, and a verdict."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import require_action, require_owner, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, ReleaseError
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import rendering
from kschedweb.engine.studies.measure.registry import rank_of
from kschedweb.jobs.waiting import load_again, render_waiting
from kschedweb.playground.gate import selectors, services
from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.forms import GateForm
from kschedweb.playground.gate.invocation import about_scenario, about_snapshot, amount_or_dash, measure_row
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.validation import process_of, requested_release
from kschedweb.web.errors import ApplicationError
from kschedweb.web.news import numbered_page, with_news
from kschedweb.web.pages import run_and_notify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.config import Release
    from kschedweb.playground.gate.invocation import GateInvocation
    from kschedweb.playground.gate.models import Gate

PAGE_SIZE = 20
# Name and media type of a downloaded verdict, by form.
FILES = {
    "json": ("verdict.json", "application/json"),
    "junit": ("verdict.xml", "application/xml"),
    "markdown": ("verdict.md", "text/markdown"),
}


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@with_news
def show_gate(request: PageRequest) -> HttpResponse:
    """Show the question as a form, a command and a REST call; a POST judges, or redirects to the question's address."""
    if request.method == "POST" and request.POST.get("do") != "show":
        require_action(
            request.user, Action.EDIT, refusal="Only editors can try a policy. The command below needs no account."
        )
    scope = scope_of(request)
    form = GateForm(
        request.user,
        request.POST if request.method == "POST" else request.GET,
        cluster=scope.cluster.name if scope.cluster else "",
        policy=scope.policy.name if scope.policy else "",
    )
    if not form.fields["on"].choices[0][1] and not form.fields["on"].choices[1][1]:  # type: ignore[attr-defined]
        return render(request, "dashboard/no_data.html", {"noun": "cluster"})
    valid = form.is_valid()
    # Showing the commands only changes the address, which everyone may do.
    if request.method == "POST" and request.POST.get("do") == "show":
        return redirect(f"{reverse('gate')}?{urlencode(form.data)}")
    if request.method == "POST" and valid and (gate := _ask_gate(request, form)):
        return redirect("gate-verdict", gate.pk)
    context: dict[str, object] = {"form": form}
    if valid:
        context |= _invocation_context(request, form)
    filters = GateFilter(request.GET, queryset=selectors.gate_list(request.user).defer("verdict"))
    context["filters"] = filters
    context["page"] = numbered_page(request, filters.qs)
    context["hidden_fields"] = {name: value for name, value in request.GET.items() if name in form.fields}
    status = 400 if form.errors and form.has_params else 200
    return render(request, "playground/gate/gate.html", context, status=status)


def _ask_gate(request: PageRequest, form: GateForm) -> Gate | None:
    """Return the gate; ``None`` if the question is invalid, and the form has the errors."""
    try:
        return services.gate_ask(user=request.user, question=_gate_request(request, form))
    except ApplicationError as error:
        for problem in error.errors or [{"path": "", "message": error.detail}]:
            field = {"policy": "policy", "baseline": "baseline", "snapshot": "on", "scenario": "on"}.get(
                problem["path"].partition(".")[0].partition("[")[0]
            )
            if problem["path"].startswith("thresholds.measures"):
                field = "measures"
            form.add_error(field, f"It {problem['message']}." if field == "measures" else problem["message"])
        return None


def _gate_request(request: PageRequest, form: GateForm) -> services.GateRequest:
    """Return the question of a valid form."""
    invocation = form.invocation
    build_request = partial(services.GateRequest, thresholds=form.thresholds, place=invocation.place)
    if invocation.scenario:
        revision = selectors.scenario_of(request.user, UUID(invocation.scenario))
        policies = _gate_policies(invocation, cluster_version(revision))
        return build_request(*policies, subject=about_scenario(revision), revision=revision)
    snapshot = selectors.snapshot_of(invocation.cluster)
    policies = _gate_policies(invocation, snapshot.cluster.server_version)
    return build_request(*policies, subject=about_snapshot(snapshot), snapshot=snapshot)


def _gate_policies(invocation: GateInvocation, version: str) -> tuple[engine.GatePolicy, engine.GatePolicy]:
    """Return the policy and its baseline, on a cluster of ``version``."""
    policy = _gate_policy(invocation.policy, invocation.release, version, "policy")
    if invocation.baseline:
        return policy, _gate_policy(invocation.baseline, invocation.baseline_release, version, "baseline")
    release = _gate_release(process_of(policy.release), invocation.baseline_release, "baseline")
    return policy, engine.GatePolicy(engine.DEFAULTS, release=release)


def _gate_policy(reference: str, release: str, version: str, path: str) -> engine.GatePolicy:
    """Return the saved policy ``reference``, run by ``release`` ("": its own, or that of the cluster's ``version``)."""
    revision = revision_named(reference, path)
    return engine.GatePolicy(
        reference, revision.document, _gate_release(process_of_run(revision, version), release, path)
    )


def _gate_release(process: Mapping[str, Any], release: str, path: str) -> Release:
    try:
        return requested_release(process, release)
    except ReleaseError as error:
        raise ApplicationError.at(path, str(error)) from None


def _with_releases(request: PageRequest, invocation: GateInvocation) -> GateInvocation:
    """Return the question with the releases that answer it here, which no dump of a cluster names."""
    try:
        version = (
            cluster_version(selectors.scenario_of(request.user, UUID(invocation.scenario)))
            if invocation.scenario
            else selectors.snapshot_of(invocation.cluster).cluster.server_version
        )
        policy, baseline = (side.release for side in _gate_policies(invocation, version))
    except ApplicationError:
        return invocation
    # The command takes the current release without the option.
    release = "" if policy is CURRENT else policy.name
    other = baseline.name if baseline.name != policy.name else ""
    return replace(
        invocation, release=invocation.release or release, baseline_release=invocation.baseline_release or other
    )


def _invocation_context(request: PageRequest, form: GateForm) -> dict[str, object]:
    """Return the question to paste, and the addresses of the files that the command reads."""
    pasted = _with_releases(request, form.invocation)
    context: dict[str, object] = {
        "pasted": pasted,
        "call": pasted.build_curl(request.build_absolute_uri(reverse("api:gate"))),
    }
    for name in ("policy", "baseline"):
        policy_name, _, number = getattr(pasted, name).partition("@")
        if policy_name:
            context[f"{name}_file"] = f"{reverse('policy-download', args=[policy_name])}?revision={number}"
    if pasted.priced:
        context["prices_file"] = reverse("costs-prices-download", args=[pasted.cluster])
    if pasted.scenario:
        context["scenario_file"] = reverse("scenario-export", args=[pasted.scenario])
    return context


@require_safe
@requires(Action.VIEW)
def show_verdict(request: PageRequest, gate_id: UUID) -> HttpResponse:
    """Show a verdict as a page or a file, or the progress of its job."""
    gate = selectors.gate_get(request.user, gate_id)
    if (form := request.GET.get("format", "")) in FILES and gate.verdict is not None:
        name, kind = FILES[form]
        text = rendering.render_verdict({"id": str(gate.pk), **gate.verdict}, form)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return HttpResponse(text, content_type=f"{kind}; charset=utf-8", headers=headers)
    context = {"gate": gate, "verdict": gate.verdict, "may_delete": may_change(request.user, gate)}
    if gate.verdict is None:
        address = reverse("gate-verdict", args=[gate.pk])
        return render_waiting(request, gate, template="playground/gate/verdict.html", address=address, more=context)
    if request.htmx:
        return load_again()
    measures = [measure_row(row) for row in sorted(gate.verdict["measures"], key=lambda row: rank_of(row["name"]))]
    context |= {
        "checks": [_check_row(check) for check in gate.verdict["checks"]],
        "changed": [measure for measure in measures if measure["differs"]],
        "same": [measure for measure in measures if not measure["differs"]],
        "ended": True,
    }
    return render(request, "playground/gate/verdict.html", context)


@require_POST
@requires(Action.EDIT)
def delete_verdict(request: PageRequest, gate_id: UUID) -> HttpResponse:
    gate = require_owner(request.user, selectors.gate_get(request.user, gate_id), "a check")
    deleted = run_and_notify(
        request, lambda: services.gate_delete(user=request.user, gate=gate), gettext("Verdict deleted.")
    )
    return redirect("gate") if deleted else redirect("gate-verdict", gate_id)


def _check_row(check: Json) -> dict[str, object]:
    """Return a check with its amounts in words."""
    limits = ", ".join(f"{key} {value}" for key, value in check["limits"].items())
    values = {name: amount_or_dash(check[name], check["unit"]) for name in ("value", "baseline")}
    return {**check, **values, "limits": limits, "whole": len(check["pods"]) + check["more"]}
