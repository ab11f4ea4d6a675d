"""ImageLocality prefers nodes that already have the pod's images; an image that many nodes have counts more."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.interface import Cycle, Scope
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Ints, Rows

MIB = 1024 * 1024
LEAST = 23 * MIB
MOST_AN_IMAGE = 1000 * MIB


class ImageLocality:
    name = "ImageLocality"

    def __init__(self, args: dict[str, Any], volumes: bool = True, volumes_raise_threshold: bool = True) -> None:
        """``volumes``: images of volumes count; ``volumes_raise_threshold``: for the best score more is needed then."""
        self.volumes, self.volumes_raise_threshold = volumes, volumes_raise_threshold

    def scope(self, pod: Pod) -> Scope:
        return Scope.NODE

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """The size of the pod's images on the node, each scaled by the share of nodes that have it; 0 to 100."""
        snapshot, pod = cycle.snapshot, cycle.pod
        known = [snapshot.images[name] for image in self.images(pod) if (name := normalized(image)) in snapshot.images]
        if not known:
            return np.zeros(cycle.size(rows), dtype=np.int64)
        sums = np.zeros(len(snapshot), dtype=np.int64)
        for size, holders in known:
            if holders:
                sums[holders] += counted(size, holders, len(snapshot))
        most = self.most(pod)
        if most <= LEAST:  # a pod without containers
            return np.zeros(cycle.size(rows), dtype=np.int64)
        return MAX_NODE_SCORE * (np.clip(sums, LEAST, most) - LEAST)[rows] // (most - LEAST)

    def images(self, pod: Pod) -> tuple[str, ...]:
        """The images of the pod that count: those of init containers first, those of volumes last."""
        return pod.images if self.volumes else pod.images[: pod.container_count]

    def most(self, pod: Pod) -> int:
        """The bytes from which on the score is 100."""
        return MOST_AN_IMAGE * (len(pod.images) if self.volumes_raise_threshold else pod.container_count)


def counted(size: int, holders: list[int], nodes: int) -> int:
    """The bytes that an image counts for: ``size`` times the share of nodes that have it."""
    return int(float(size) * (float(len(holders)) / float(nodes)))


def normalized(image: str) -> str:
    """The image name with a tag, ``latest`` if it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


SPEC = PluginSpec(
    "ImageLocality",
    frozenset({"score"}),
    "Prefers nodes that already hold the pod's images.",
    factory=ImageLocality,
    variant=lambda release: {
        "factory": partial(
            ImageLocality,
            volumes=release.behaviour.image_volumes_are_images,
            volumes_raise_threshold=release.behaviour.image_volumes_raise_threshold,
        )
    },
)
