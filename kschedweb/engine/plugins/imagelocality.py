"""ImageLocality prefers nodes that already have the pod's images, the more so the more widely they are spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.interface import Cycle, Scope
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Ints, Rows

MIB = 1024 * 1024
LEAST = 23 * MIB
MOST_A_CONTAINER = 1000 * MIB


class ImageLocality:
    name = "ImageLocality"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def scope(self, pod: Pod) -> Scope:
        return Scope.NODE

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Bytes of the pod's images on the node, each scaled by the share of nodes that have it, within bounds."""
        snapshot, pod = cycle.snapshot, cycle.pod
        known = [snapshot.images[name] for image in pod.images if (name := normalized(image)) in snapshot.images]
        if not known:
            return np.zeros(cycle.size(rows), dtype=np.int64)
        sums = np.zeros(len(snapshot), dtype=np.int64)
        for size, holders in known:
            if holders:
                sums[holders] += counted(size, holders, len(snapshot))
        most = MOST_A_CONTAINER * pod.container_count
        if most <= LEAST:  # a pod without containers
            return np.zeros(cycle.size(rows), dtype=np.int64)
        return MAX_NODE_SCORE * (np.clip(sums, LEAST, most) - LEAST)[rows] // (most - LEAST)


def counted(size: int, holders: list[int], nodes: int) -> int:
    """What an image of ``size`` bytes counts for: the more, the more of the nodes hold it."""
    return int(float(size) * (float(len(holders)) / float(nodes)))


def normalized(image: str) -> str:
    """The name with a tag: ``latest`` where there is none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


SPEC = PluginSpec(
    "ImageLocality",
    frozenset({"score"}),
    "Prefers nodes that already hold the pod's images.",
    factory=ImageLocality,
)
