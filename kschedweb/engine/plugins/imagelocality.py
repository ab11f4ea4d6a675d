"""ImageLocality prefers nodes that already have the pod's images. An image that many nodes have counts more."""

from __future__ import annotations

from functools import partial

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.interface import Cycle, PluginScope
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.columns import Ints, Rows

# kube-scheduler's `mb`, `minThreshold` and `maxContainerThreshold`.
MIB = 1024 * 1024
MIN_THRESHOLD = 23 * MIB
MOST_AN_IMAGE = 1000 * MIB


class ImageLocality:
    name = "ImageLocality"

    def __init__(self, args: PluginArgs, image_volumes: bool = True, volume_scaling: bool = True) -> None:
        """Take the flags of the release.

        ``image_volumes``: images of volumes count.
        ``volume_scaling``: each such image raises the threshold for the best score.
        """
        self.image_volumes, self.volume_scaling = image_volumes, volume_scaling

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores by the size of the pod's images on the node, each scaled by the share of nodes that have it;
        0 to 100.
        """
        snapshot, pod = cycle.snapshot, cycle.pod
        image_states = [
            snapshot.images[name]
            for image in self.list_images(pod)
            if (name := normalized_image_name(image)) in snapshot.images
        ]
        if not image_states:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        sums = np.zeros(len(snapshot), dtype=np.int64)
        for size, holders in image_states:
            if holders:
                sums[holders] += scaled_image_score(size, holders, len(snapshot))
        max_threshold = self.max_threshold(pod)
        if max_threshold <= MIN_THRESHOLD:  # a pod without containers
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        return (
            MAX_NODE_SCORE
            # Multiplied before it is divided, in integers, as `calculatePriority` does.
            * (np.clip(sums, MIN_THRESHOLD, max_threshold) - MIN_THRESHOLD)[rows]
            // (max_threshold - MIN_THRESHOLD)
        )

    def list_images(self, pod: Pod) -> tuple[str, ...]:
        """Return the pod's images that count: those of init containers first, those of volumes last."""
        return pod.images if self.image_volumes else pod.images[: pod.container_count]

    def max_threshold(self, pod: Pod) -> int:
        """Return the bytes from which on the score is 100."""
        return MOST_AN_IMAGE * (len(pod.images) if self.volume_scaling else pod.container_count)


def scaled_image_score(size: int, holders: list[int], nodes: int) -> int:
    """Return the bytes that an image counts for: ``size`` times the share of nodes that have it."""
    # In this order, as `scaledImageScore` does: the share is computed first, and the product truncated.
    return int(float(size) * (float(len(holders)) / float(nodes)))


def normalized_image_name(image: str) -> str:
    """Return the image name with a tag, ``latest`` if it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"


SPEC = PluginSpec(
    "ImageLocality",
    frozenset({"score"}),
    "Prefers nodes that already hold the pod's images.",
    factory=ImageLocality,
    variant=lambda release: {
        "factory": partial(
            ImageLocality,
            image_volumes=release.behaviour.image_locality_image_volumes,
            volume_scaling=release.behaviour.image_locality_volume_scaling,
        )
    },
)
