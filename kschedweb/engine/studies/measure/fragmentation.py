"""Compute fragmentation: the share of free resources that cannot be used, as published for GPU clusters.

A pod is drawn at random from the workload. The free amount of a node is a fragment for this pod if the pod does not fit
there, for whatever reason, or does not request the resource. Fragmentation is the expected share of fragments in all
that is free (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, for whole devices).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats, Ints, Mask


def compute_fragmentation(
    free: Floats, requests: Ints, counts: Ints, eligible: NDArray[np.uint8], resource: int
) -> float | None:
    """Return the fragmentation, 0 to 1, of the resource at row ``resource``; ``None`` if none is free, or without pods.

    ``free`` is f8[resources, nodes], where NaN and values below 0 are nothing; ``requests`` is i8[resources, shapes];
    ``counts`` has the number of pods of each shape; ``eligible`` is u1[shapes, nodes], 1 where pods of the shape may
    run if there is room.
    """
    available = np.maximum(np.nan_to_num(free), 0.0)
    whole, pods = float(available[resource].sum()), int(counts.sum())
    if not whole or not pods:
        return None
    wasted = 0.0
    for shape, count in enumerate(counts.tolist()):
        if count:
            usable = _usable_nodes(available, requests[:, shape], eligible[shape].astype(np.bool_), resource)
            wasted += count / pods * (whole - float(available[resource, usable].sum()))
    return wasted / whole


def _usable_nodes(available: Floats, request: Ints, eligible: Mask, resource: int) -> Mask:
    if not request[resource]:
        return np.zeros(available.shape[1], dtype=np.bool_)
    requested = request > 0
    fits: Mask = eligible & np.all(available[requested] >= request[requested, None], axis=0)
    return fits
