"""The node map of what Karpenter would do: which nodes go, could go, and stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.advice.autoscaling.words import VERDICT_CHOICES, VERDICTS
from kschedweb.watermarks import node_maps
from kschedweb.web.nodemap.nodemap import MapChoice, MapLayer, make_verdict_layer

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.json_types import Json
    from kschedweb.web.nodemap.nodemap import NodeMap


def map_verdicts(snapshot: Snapshot, answer: Json, choice: MapChoice) -> NodeMap | None:
    """Return the map of the nodes of ``snapshot`` with the verdict of ``answer`` on each."""

    def make_own_layers(names: Sequence[str]) -> list[MapLayer]:
        verdicts = [str(word) for _, word in VERDICT_CHOICES]
        codes = {node["node"]: VERDICTS.index(node["verdict"]) for node in answer["nodes"]}
        return [make_verdict_layer("verdict", gettext("verdict"), verdicts, names, codes)]

    return node_maps.map_snapshot(snapshot, choice, own=make_own_layers)
