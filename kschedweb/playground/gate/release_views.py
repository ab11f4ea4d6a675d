"""The page "Releases": the releases between two of kube-scheduler, each with its differences from the one before it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import urlencode

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.releases import RELEASES, find_upgrade_range
from kschedweb.engine.releases.changes import CHANGES, changes_between
from kschedweb.engine.studies.upgrade.examples import ChangeExample, ReleaseAnswer, compare_answers
from kschedweb.engine.studies.upgrade.report import compare_gates
from kschedweb.policies.scope import scope_of
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.config import Release

CHOICES = [(name, f"kube-scheduler {release.label}") for name, release in RELEASES.items()]


class ReleasesForm(forms.Form):
    first = forms.ChoiceField(label=_("From"), choices=CHOICES)
    second = forms.ChoiceField(label=_("To"), choices=CHOICES)


@require_safe
@requires(Action.VIEW)
def show_releases(request: PageRequest) -> HttpResponse:
    """Show the differences between two releases; without a choice from the cluster's, or 1.35, to the newest."""
    cluster = scope_of(request).cluster
    running, newest = find_upgrade_range(cluster.server_version if cluster else "")
    first = {"first": running if running != newest else find_upgrade_range("")[0], "second": newest}
    params = {name: request.GET[name] for name in first if name in request.GET}
    form = ReleasesForm(first | params)
    chosen = form.cleaned_data if form.is_valid() else first
    before, after = chosen["first"], chosen["second"]
    query = {"release": after, "baseline_release": before}
    releases = _release_rows(before, after)
    context = {
        "form": form,
        "first": before,
        "second": after,
        "rehearse": urlencode(query | ({"on": f"cluster:{cluster.name}"} if cluster else {})),
        "releases": releases,
        "changes": sum(len(row["changes"]) for row in releases),
        "others": _other_releases([row["release"].name for row in releases]),
        "gates": _gate_rows(before, after),
    }
    return render(request, "playground/gate/releases.html", context, status=200 if form.is_valid() else 400)


class ReleaseRow(TypedDict):
    """A release of the list."""

    release: Release
    # The one before it.
    previous: str
    changes: list[dict[str, object]]


def _release_rows(before: str, after: str) -> list[ReleaseRow]:
    """Return the releases that an upgrade passes, the newest first, each with its differences from the one before."""
    changes = changes_between(before, after)
    return [
        {
            "release": RELEASES[name],
            "previous": previous,
            "changes": [_change_context(_run_change(change.name)) for change in changes if change.since == name],
        }
        for previous, name in reversed(list(pairwise(RELEASES)))
        if any(change.since == name for change in changes)
    ]


def _other_releases(listed_names: Sequence[str]) -> list[tuple[Release, str]]:
    """Return the releases that are not listed, the newest first, each with the one before it."""
    pairs = reversed(list(pairwise(RELEASES)))
    return [(RELEASES[name], previous) for previous, name in pairs if name not in listed_names]


@cache
def _run_change(name: str) -> ChangeExample:
    """Return the answers to a change's scenario, which never change."""
    return compare_answers(next(change for change in CHANGES if change.name == name))


def _change_context(result: ChangeExample) -> dict[str, object]:
    change = result.change
    answers = [_answer_context(answer, result) for answer in (result.before, result.after) if answer is not None]
    text = json.dumps(change.scenario, indent=2, ensure_ascii=False)
    return {"change": change, "before": result.before, "answers": answers, "text": text}


def _answer_context(answer: ReleaseAnswer, result: ChangeExample) -> dict[str, object]:
    """Return an answer in words, with a line for each plugin whose scores differ, and one for each message."""
    other = result.before if answer is result.after else result.after
    differing = [(name, points) for name, points in answer.scores.items() if other and other.scores.get(name) != points]
    notes = [answer.message] if answer.message else []
    notes += [f"{node}: {why}" for node, why in answer.rejected.items()]
    notes += [f"{' and '.join(answer.victims)} would be evicted"] if answer.victims else []
    lines = {"scores": [f"{name}: {_format_points(points)}" for name, points in differing], "said": notes}
    return {**answer.to_dict(), "totals": _format_points(answer.total), **lines}


def _format_points(points: dict[str, int]) -> str:
    return ", ".join(f"{node} {number}" for node, number in points.items())


def _gate_rows(before: str, after: str) -> list[dict[str, object]]:
    """Return the gates that differ; first those that decide something here."""
    changes = {gate: change for change in changes_between(before, after) for gate in change.gates}
    listed: list[dict[str, object]] = [
        {
            "name": gate.name,
            "states": [{"release": before, "gate": gate.before}, {"release": after, "gate": gate.after}],
            "change": changes.get(gate.name),
        }
        for gate in compare_gates(RELEASES[before], RELEASES[after])
    ]
    return sorted(listed, key=lambda row: row["change"] is None)
