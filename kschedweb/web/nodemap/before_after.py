"""The map of nodes before and after a change, coloured by the CPU that is requested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from django.utils.translation import gettext
from numpy.typing import NDArray

from kschedweb.engine.objects.node import ZONE
from kschedweb.web.nodemap.grouping import make_named_groupings
from kschedweb.web.nodemap.nodemap import (
    MOST_NODES,
    PODS,
    STATE,
    WITH_PODS,
    MapChoice,
    MapLayer,
    NodeMap,
    make_inline_map,
    round_half_up,
    show_requested,
)


def map_before_and_after(
    names: Sequence[str], zones: Sequence[str], before: Iterable[float | None], after: Iterable[float | None]
) -> NodeMap | None:
    """Return the nodes before and after, by percent of requested CPU; None of a missing node.

    ``zones`` has "" for none. Return None for no nodes, or for too many.
    """
    if not 0 < len(names) <= MOST_NODES:
        return None
    groupings = make_named_groupings([{ZONE: zone} if zone else {} for zone in zones])
    sides = {gettext("Before"): _make_layers(before), gettext("After"): _make_layers(after)}
    return make_inline_map(names, groupings, sides, ("", ""), MapChoice(), choosable=1)


def _make_layers(percents: Iterable[float | None]) -> list[MapLayer]:
    # None becomes NaN.
    values = np.array(list(percents), dtype=np.float32)
    states = np.where(np.isnan(values), np.nan, WITH_PODS).astype(np.float32)
    return [
        MapLayer(replace(show_requested("cpu"), sentence=_summarize(values[~np.isnan(values)])), values),
        MapLayer(PODS, np.full(len(values), np.nan, np.float32)),
        MapLayer(STATE, states),
    ]


def _summarize(percents: NDArray[np.float32]) -> str:
    if not len(percents):
        return gettext("There are no nodes.")
    return gettext("%(mean)s %% requested on average, %(most)s %% on the fullest.") % {
        "mean": round_half_up(percents.mean()),
        "most": round_half_up(percents.max()),
    }
