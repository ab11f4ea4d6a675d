"""Fragmentation: the share of free resources that cannot be used, as published for GPU clusters.

A pod is drawn at random from the workload. The free amount of a node is a fragment for this pod if the pod does not fit
there, for whatever reason, or does not request the resource. Fragmentation is the expected share of fragments in all
that is free (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, for whole devices).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats, Ints, Mask


def fragmentation(
    free: Floats, requests: Ints, counts: Ints, eligible: NDArray[np.uint8], resource: int
) -> float | None:
    """The fragmentation, 0 to 1, of the resource at row ``resource``; ``None`` if none is free or no pod is known.

    ``free`` is f8[resources, nodes], where nan and values below 0 are nothing; ``requests`` is i8[resources, shapes];
    ``counts`` has the number of pods of each shape; ``eligible`` is u1[shapes, nodes], 1 where pods of the shape may
    run if there is room.
    """
    left = np.maximum(np.nan_to_num(free), 0.0)
    whole, pods = float(left[resource].sum()), int(counts.sum())
    if not whole or not pods:
        return None
    wasted = 0.0
    for shape, count in enumerate(counts.tolist()):
        if count:
            usable = _usable(left, requests[:, shape], eligible[shape].astype(np.bool_), resource)
            wasted += count / pods * (whole - float(left[resource, usable].sum()))
    return wasted / whole


def _usable(left: Floats, asked: Ints, eligible: Mask, resource: int) -> Mask:
    if not asked[resource]:
        return np.zeros(left.shape[1], dtype=np.bool_)
    wanted = asked > 0
    fits: Mask = eligible & np.all(left[wanted] >= asked[wanted, None], axis=0)
    return fits
