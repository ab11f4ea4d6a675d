"""The node map of a decision: what became of each node, then its score, then what nodes have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.watermarks import node_maps
from kschedweb.web.counting import format_count
from kschedweb.web.nodemap.nodemap import MapChoice, MapLayer, NodeColouring
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.matrix.matrix import Matrix
    from kschedweb.engine.cycle.explanation import Explanation
    from kschedweb.web.nodemap.nodemap import NodeMap

# The places of the first two verdicts; the filters that rejected a node follow.
CHOSEN, FITS = range(2)
# What a filter means for a node, in a word or two that a cell has room for. Others go by their own names.
SHORT_VERDICTS = {
    "NodeResourcesFit": _("too full"),
    "NodeUnschedulable": _("cordoned"),
    "NodeName": _("not asked for"),
    "NodeAffinity": _("no match"),
    "NodePorts": _("port taken"),
    "TaintToleration": _("taint"),
    "PodTopologySpread": _("uneven"),
    "InterPodAffinity": _("affinity"),
    "DynamicResources": _("no device"),
    **dict.fromkeys(("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"), _("volume")),
}


def map_decision(snapshot: Snapshot, matrix: Matrix, choice: MapChoice) -> NodeMap | None:
    """Return the map of a decision about the nodes of ``snapshot``; None if these are too many to draw."""
    explanation = matrix.explanation
    layers = [_list_verdicts(explanation)]
    if explanation.feasible.size and not explanation.is_unscored:
        layers.append(_list_scores(explanation, matrix.ceiling))

    def make_own_layers(names: Sequence[str]) -> list[MapLayer]:
        places = {name: place for place, name in enumerate(explanation.nodes)}
        order = np.array([places.get(name, -1) for name in names], dtype=np.int64)
        # The last value, of a node that the decision does not know, is nan.
        return [MapLayer(layer.show, np.append(layer.values, np.float32(np.nan))[order]) for layer in layers]

    return node_maps.map_snapshot(snapshot, choice, own=make_own_layers)


def map_placements(snapshot: Snapshot, placed: Iterable[str], choice: MapChoice) -> NodeMap | None:
    """Return the map of ``snapshot`` with the pods that a page is about; ``placed`` has the node of each.

    None if none has a node, or there are too many nodes to draw.
    """
    counts = Counter(filter(None, placed))
    if not counts:
        return None
    sentence = gettext("%(pods)s on %(nodes)s.") % {
        "pods": format_count(counts.total(), "pods"),
        "nodes": format_count(len(counts), "nodes"),
    }
    colouring = NodeColouring("placed", _("these pods"), "pods", sentence=sentence)

    def make_own_layers(names: Sequence[str]) -> list[MapLayer]:
        return [MapLayer(colouring, np.array([counts.get(name, np.nan) for name in names], dtype=np.float32))]

    return node_maps.map_snapshot(snapshot, choice, own=make_own_layers)


def _list_verdicts(explanation: Explanation) -> MapLayer:
    """Return whether each node is chosen, fits, or by which filter it was rejected."""
    words, codes = [gettext("chosen"), gettext("fits")], np.full(len(explanation.nodes), np.nan, dtype=np.float32)
    for position, column in enumerate(explanation.filters):
        rejected = explanation.rejected_by == position
        if not rejected.any():
            continue
        word = str(SHORT_VERDICTS.get(column.plugin, column.plugin))
        if word not in words:
            words.append(word)
        codes[rejected] = words.index(word)
    codes[explanation.feasible] = FITS
    if explanation.chosen is not None:
        codes[explanation.chosen] = CHOSEN
    counts = [(word, int((codes == code).sum())) for code, word in enumerate(words)]
    listed = gettext(", ").join(f"{number:,} {word}" for word, number in counts if number)
    sentence = gettext("%(nodes)s: %(parts)s.") % {
        "nodes": format_count(len(explanation.nodes), "nodes"),
        "parts": listed or gettext("none tried"),
    }
    return MapLayer(NodeColouring("verdict", _("verdict"), "", words=tuple(words), sentence=sentence), codes)


def _list_scores(explanation: Explanation, ceiling: int) -> MapLayer:
    """Return the total score of each node that fits."""
    values = np.full(len(explanation.nodes), np.nan, dtype=np.float32)
    values[explanation.feasible] = explanation.total
    sentence = gettext("Scores of %(nodes)s: from %(least)s to %(most)s of %(maximum)s.") % {
        "nodes": format_count(len(explanation.feasible), "nodes"),
        "least": f"{int(explanation.total.min()):,}",
        "most": f"{int(explanation.total.max()):,}",
        "maximum": f"{ceiling:,}",
    }
    return MapLayer(NodeColouring("score", _("score"), "score", sentence=sentence), values)
