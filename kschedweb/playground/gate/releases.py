"""The page "Releases": all that two releases of kube-scheduler do otherwise, worked by the engine."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.releases import RELEASES, upgrade
from kschedweb.engine.releases.changes import CHANGES, between
from kschedweb.engine.studies.upgrade.report import gates
from kschedweb.engine.studies.upgrade.working import Answer, Worked, worked
from kschedweb.policies.scope import scope_of

if TYPE_CHECKING:
    from kschedweb.accounts.typing import PageRequest

CHOICES = [(name, f"kube-scheduler {name}") for name in RELEASES]


class ReleasesForm(forms.Form):
    first = forms.ChoiceField(label="From", choices=CHOICES)
    second = forms.ChoiceField(label="To", choices=CHOICES)


@require_safe
@requires(Action.VIEW)
def releases(request: PageRequest) -> HttpResponse:
    """The differences between two releases; without a choice from the cluster's, or 1.35, to the newest."""
    cluster = scope_of(request).cluster
    own, newest = upgrade(cluster.server_version if cluster else "")
    first = {"first": own if own != newest else upgrade("")[0], "second": newest}
    given = {name: request.GET[name] for name in first if name in request.GET}
    form = ReleasesForm(first | given)
    chosen = form.cleaned_data if form.is_valid() else first
    before, after = chosen["first"], chosen["second"]
    asked = {"release": after, "baseline_release": before}
    context = {
        "form": form,
        "first": before,
        "second": after,
        "rehearse": urlencode(asked | ({"on": f"cluster:{cluster.name}"} if cluster else {})),
        "changes": [_shown(_worked(change.name)) for change in between(before, after)],
        "gates": _gates(before, after),
    }
    return render(request, "playground/gate/releases.html", context, status=200 if form.is_valid() else 400)


@cache
def _worked(name: str) -> Worked:
    """The answers to a scenario, which never change."""
    return worked(next(change for change in CHANGES if change.name == name))


def _shown(found: Worked) -> dict[str, Any]:
    change = found.change
    answers = [_answer(one, found) for one in (found.before, found.after) if one is not None]
    text = json.dumps(change.scenario, indent=2, ensure_ascii=False)
    return {"change": change, "before": found.before, "answers": answers, "text": text}


def _answer(one: Answer, found: Worked) -> dict[str, Any]:
    """An answer in words, a line a plugin whose scores differ between the two, and a line a thing that is said."""
    other = found.before if one is found.after else found.after
    differing = [(name, points) for name, points in one.scores.items() if other and other.scores.get(name) != points]
    said = [one.message] if one.message else []
    said += [f"{node}: {why}" for node, why in one.rejected.items()]
    said += [f"{' and '.join(one.victims)} would be evicted"] if one.victims else []
    lines = {"scores": [f"{name}: {_listed(points)}" for name, points in differing], "said": said}
    return {**one.to_dict(), "totals": _listed(one.total), **lines}


def _listed(points: dict[str, int]) -> str:
    return ", ".join(f"{node} {number}" for node, number in points.items())


def _gates(before: str, after: str) -> list[dict[str, Any]]:
    """The gates that differ; first those that decide something here."""
    changes = {gate: change for change in between(before, after) for gate in change.gates}
    listed = [
        {
            "name": one.name,
            "states": [{"release": before, "gate": one.before}, {"release": after, "gate": one.after}],
            "change": changes.get(one.name),
        }
        for one in gates(RELEASES[before], RELEASES[after])
    ]
    return sorted(listed, key=lambda one: one["change"] is None)
