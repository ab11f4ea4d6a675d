"""The context of a page with the node map of one run, or of two side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.playground.runs.maps import nodes
from kschedweb.web.durations import format_duration
from kschedweb.web.nodemap.nodemap import MapSide, NodeMap, Now, Show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest

    from kschedweb.engine.studies.play.outcome import Outcome
    from kschedweb.playground.runs.models import Run


# Parameters of the address that the map's form keeps.
CARRIED = ("at", "speed", "state", "search", "node", "other", "plugin", "what")


@dataclass(frozen=True)
class MappedRun:
    """A run on a map; ``label`` is "" for a single run."""

    run: Run
    outcome: Outcome
    label: str = ""


def common(outcomes: Sequence[Outcome]) -> dict[str, Show]:
    """The choices of colouring that all of these runs have, by key."""
    first, *others = [nodes.shows(outcome) for outcome in outcomes]
    return {key: show for key, show in first.items() if all(key in other for other in others)}


def node_map(request: HttpRequest, shown: Sequence[MappedRun], key: str, time: float) -> NodeMap | None:
    """The runs side by side at ``time``, coloured by ``key``; ``None`` if no run ever had a node."""
    drawn = [one for one in shown if one.outcome.nodes]
    if not drawn:
        return None
    shows = common([one.outcome for one in drawn])
    return NodeMap(
        sides=[_side(one, shows[key], min(time, one.outcome.end)) for one in drawn],
        shows=list(shows.values()),
        by=request.GET.get("by", ""),
        group=request.GET.get("group", ""),
        focus=request.GET.get("focus", ""),
        find=request.GET.get("find", ""),
        fields={name: request.GET[name] for name in CARRIED if request.GET.get(name)},
        time=time,
    )


def _side(shown: MappedRun, show: Show, time: float) -> MapSide:
    run, outcome = shown.run, shown.outcome
    at = np.array([time])
    values = nodes.values(outcome, show.key, at)[0]
    groups = [grouping.at(time) for grouping in nodes.grouped(run.groups)]
    now = Now(
        outcome.nodes,
        groups,
        show,
        values,
        nodes.pods(outcome, at)[0],
        gettext("After %(time)s") % {"time": format_duration(time)},
    )
    return MapSide(
        label=shown.label,
        now=now,
        columns=reverse("api:run-map", args=[run.pk]),
        frames=reverse("api:run-map-frames", args=[run.pk]),
        pods=reverse("api:run-map-pods", args=[run.pk]),
        decisions=reverse("run-decision", args=[run.pk, "-", "-"]).removesuffix("-/-/"),
        nodes=f"{reverse('run', args=[run.pk])}?at={time!r}&node=",
        address=reverse("run", args=[run.pk]) if shown.label else "",
    )
