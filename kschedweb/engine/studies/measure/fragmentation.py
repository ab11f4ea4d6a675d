"""How much of what is free nobody can use: fragmentation as published for GPU clusters, and the same for the rest.

Of all pods of the workload one is drawn at random. What is free on a node is a fragment for it where it does not fit
there, for whatever reason, or does not ask for the resource at all; fragmentation is the share of all that is free
which is a fragment on average (Weng et al., "Beware of Fragmentation", USENIX ATC 2023, for whole devices).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.state.columns import Floats, Ints, Mask


def fragmentation(
    free: Floats, requests: Ints, counts: Ints, eligible: NDArray[np.uint8], resource: int
) -> float | None:
    """0 to 1, of the resource at row ``resource``; ``None`` where none of it is free, or no pod is known.

    ``free`` is f8[resources, nodes], nan or below 0 for nothing; ``requests`` i8[resources, shapes]; ``counts`` says
    how many pods are of each shape, ``eligible`` u1[shapes, nodes] on which nodes one may go whatever room they have.
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
