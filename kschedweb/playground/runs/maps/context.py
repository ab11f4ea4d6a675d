"""The context of a page with the node map of one run, or of two side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.playground.runs.maps import nodes
from kschedweb.web.durations import format_duration
from kschedweb.web.nodemap.nodemap import MapSide, MapState, NodeColouring, NodeMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from django.http import HttpRequest

    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.playground.runs.models import Run


# Parameters of the address that the map's form keeps.
CARRIED = ("at", "speed", "state", "search", "node", "other", "plugin", "what")


@dataclass(frozen=True)
class MappedRun:
    """A run on a map."""

    run: Run
    outcome: RunOutcome
    # "" for a single run.
    label: str = ""


def common_shows(outcomes: Sequence[RunOutcome]) -> dict[str, NodeColouring]:
    """Return the choices of colouring that all of these runs have, by key."""
    first, *further = [nodes.list_shows(outcome) for outcome in outcomes]
    return {key: show for key, show in first.items() if all(key in other for other in further)}


def node_map(request: HttpRequest, mapped_runs: Sequence[MappedRun], key: str, time: float) -> NodeMap | None:
    """Return the runs side by side at ``time``, coloured by ``key``; ``None`` if no run ever had a node."""
    drawn = [mapped for mapped in mapped_runs if mapped.outcome.nodes]
    if not drawn:
        return None
    shows = common_shows([mapped.outcome for mapped in drawn])
    return NodeMap(
        sides=[_map_side(mapped, shows[key], min(time, mapped.outcome.end)) for mapped in drawn],
        shows=list(shows.values()),
        by=request.GET.get("by", ""),
        group=request.GET.get("group", ""),
        focus=request.GET.get("focus", ""),
        find=request.GET.get("find", ""),
        fields={name: request.GET[name] for name in CARRIED if request.GET.get(name)},
        time=time,
    )


def _map_side(mapped: MappedRun, show: NodeColouring, time: float) -> MapSide:
    """Return one run's part of a map at ``time``, with the addresses that the page's script reads."""
    run, outcome = mapped.run, mapped.outcome
    at = np.array([time])
    values = nodes.map_values(outcome, show.key, at)[0]
    groups = [grouping.at_time(time) for grouping in nodes.read_groupings(run.groups)]
    now = MapState(
        outcome.nodes,
        groups,
        show,
        values,
        nodes.pod_counts(outcome, at)[0],
        gettext("After %(time)s") % {"time": format_duration(time)},
    )
    return MapSide(
        label=mapped.label,
        now=now,
        columns=reverse("api:run-map", args=[run.pk]),
        frames=reverse("api:run-map-frames", args=[run.pk]),
        pods=reverse("api:run-map-pods", args=[run.pk]),
        # Cut before namespace and name, which the page's script appends.
        decisions=reverse("run-decision", args=[run.pk, "-", "-"]).removesuffix("-/-/"),
        # repr keeps every digit of the time.
        nodes=f"{reverse('run', args=[run.pk])}?at={time!r}&node=",
        address=reverse("run", args=[run.pk]) if mapped.label else "",
    )
