"""Scores of nodes by the share of their storage that a pod's claims would use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.quantity import round_to_unit
from kschedweb.engine.objects.storage import STORAGE, Claim, PersistentVolume
from kschedweb.engine.state.columns import Floats, Ints
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.volumes.search import choose_volumes, find_sufficient_capacities, without_volume
from kschedweb.engine.validation.golang import wrap_int64

FULL = 100
# Not a score: the simulation cannot tell.
UNSAID = -1


def storage_scores(snapshot: Snapshot, claims: list[Claim], curve: Ints, *, exact: bool = False) -> Ints:
    """Return the mean over storage classes of ``curve`` at the used percentage; int64[nodes], 0 to 100.

    ``claims`` wait for a node. Where one of them gets an existing volume, only existing volumes count
    (VolumeBinding.Score). The score is ``UNSAID`` where a capacity states how large a volume may be but not how much is
    left, or where a claim to be provisioned names its class in an annotation only.
    """
    unmatched = without_volume(snapshot, claims)
    scores = _score_provisioned(snapshot, claims, curve, exact)
    for node in np.flatnonzero(~np.all(unmatched, axis=0)).tolist():
        static_volumes = [
            (claim, volume) for claim, volume in choose_volumes(snapshot, claims, node) if volume is not None
        ]
        scores[node] = _score_static_volumes(static_volumes, curve)
    return scores


def _score_static_volumes(static_volumes: list[tuple[Claim, PersistentVolume]], curve: Ints) -> int:
    """Return the score of a node where claims get these volumes."""
    requested: dict[str, int] = {}
    capacity: dict[str, int] = {}
    for claim, volume in static_volumes:
        name = volume.spec_class  # not the annotation's, as in kube-scheduler
        requested[name] = requested.get(name, 0) + round_to_unit(STORAGE, claim.request or 0)
        capacity[name] = capacity.get(name, 0) + round_to_unit(STORAGE, volume.capacity)
    total = sum(int(curve[_used_percent(requested[name], capacity[name])]) for name in requested)
    # Go's `math.Round` rounds halves up; Python's `round` would round them to even.
    return int(np.floor(total / len(requested) + 0.5))


def _used_percent(requested: int, capacity: int) -> int:
    if capacity == 0 or requested > capacity:
        return FULL
    return max(0, wrap_int64(requested * FULL) // capacity)


def _score_provisioned(snapshot: Snapshot, claims: list[Claim], curve: Ints, exact: bool) -> Ints:
    """Return the scores of nodes where all volumes are provisioned.

    A claim whose driver reports no capacity does not count.
    """
    size = len(snapshot)
    total: Floats = np.zeros(size)
    classes, unsaid = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.bool_)
    for name in dict.fromkeys(claim.spec_class for claim in claims):
        requested, capacity = np.zeros((2, size), dtype=np.int64)
        counts = np.zeros(size, dtype=np.bool_)
        for claim in claims:
            if claim.spec_class == name:
                room, has_capacity = _find_free_capacity(snapshot, claim, exact)
                requested += np.where(has_capacity, round_to_unit(STORAGE, claim.request or 0), 0)
                unsaid |= has_capacity & ((room == UNSAID) | (name is None))
                capacity = np.where(has_capacity, np.maximum(room, 0), capacity)
                counts |= has_capacity
        full = (capacity == 0) | (requested > capacity)
        # Products of absurd amounts wrap around, as in Go.
        percent = np.where(full, FULL, np.clip(requested * FULL // np.maximum(capacity, 1), 0, FULL))
        total += np.where(counts, curve[percent], 0)
        classes += counts
    scores: Ints = np.floor(total / np.maximum(classes, 1) + 0.5).astype(np.int64)
    scores[unsaid] = UNSAID
    return scores


def _find_free_capacity(snapshot: Snapshot, claim: Claim, exact: bool) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the free bytes for the claim's class by node (UNSAID where not stated), and where they suffice."""
    room, has_capacity = np.zeros(len(snapshot), dtype=np.int64), np.zeros(len(snapshot), dtype=np.bool_)
    storage_class = snapshot.objects.storage.classes[claim.storage_class]
    for capacity, nodes in find_sufficient_capacities(snapshot, claim, storage_class, exact) or ():
        new_nodes = nodes & ~has_capacity
        room[new_nodes], has_capacity = (
            UNSAID if capacity.free is None else round_to_unit(STORAGE, capacity.free),
            has_capacity | new_nodes,
        )
    return room, has_capacity
