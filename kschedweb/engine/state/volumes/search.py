"""Volumes for claims with delayed binding: existing ones, or ones that can be provisioned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.quantity import round_to_unit
from kschedweb.engine.objects.storage import STORAGE, Claim, CSIStorageCapacity, PersistentVolume, StorageClass
from kschedweb.engine.state.columns import ALL, Mask
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.volumes.matching import nodes_in_allowed_topologies, nodes_reaching_volume, select_nodes
from kschedweb.engine.values import dataclass

AVAILABLE = "Available"
Matrix = NDArray[np.bool_]


@dataclass(slots=True)
class VolumeSearchResult:
    """The nodes where a pod's claims get no volumes, by reason."""

    # No volume suits a claim, and none can be provisioned.
    no_volume: Mask
    # There is no capacity to provision a volume.
    no_space: Mask
    # The search ends with `error`.
    failed: Mask
    error: str = ""


def find_pod_volumes(snapshot: Snapshot, claims: list[Claim], *, exact: bool = False) -> VolumeSearchResult:
    """Search every node for volumes for ``claims``, which are in the order of the pod's volumes.

    ``exact``: see ``Behaviour.exact_storage_capacity``.

    As kube-scheduler's `FindPodVolumes` does.
    """
    no_volume, no_space, failed = np.zeros((3, len(snapshot)), dtype=np.bool_)
    result = VolumeSearchResult(no_volume, no_space, failed)
    placed = [claim for claim in claims if claim.selected_node is not None]
    for claim in placed:
        elsewhere = np.ones(len(snapshot), dtype=np.bool_)
        if (row := snapshot.index.get(claim.selected_node or "")) is not None:
            elsewhere[row] = False
        result.no_volume |= elsewhere
    reached = ~result.no_volume
    wanting = [(claim, reached) for claim in placed]
    if len(placed) < len(claims) and reached.any():
        # The smallest request first, as `findMatchingVolumes` sorts them.
        free = sorted((claim for claim in claims if claim.selected_node is None), key=lambda claim: claim.request or 0)
        result.error = next((_format_selector_error(snapshot, claim) for claim in free if claim.selector_error), "")
        if result.error:
            result.failed = reached
            return result
        wanting += [(claim, unmatched & reached) for claim, unmatched, _ in _find_matching_volumes(snapshot, free)]
    for claim, nodes in wanting:
        _check_volume_provisions(snapshot, claim, nodes & ~result.no_volume & ~result.no_space, result, exact)
    return result


def _format_selector_error(snapshot: Snapshot, claim: Claim) -> str:
    return f"error creating internal label selector for claim: {claim.namespace}/{claim.name}: {claim.selector_error}"


def _check_volume_provisions(
    snapshot: Snapshot, claim: Claim, nodes: Mask, result: VolumeSearchResult, exact: bool
) -> None:
    """Record in ``result`` the ``nodes`` where no volume can be provisioned for ``claim``."""
    storage_class = snapshot.objects.storage.classes[claim.storage_class]
    if not storage_class.can_provision:
        result.no_volume |= nodes
        return
    allowed = nodes_in_allowed_topologies(snapshot, storage_class)
    result.no_volume |= nodes & ~allowed
    result.no_space |= nodes & allowed & ~_has_space(snapshot, claim, storage_class, exact)


def _has_space(snapshot: Snapshot, claim: Claim, storage_class: StorageClass, exact: bool) -> Mask:
    """Return the mask of the nodes with capacity for the requested size; all if the driver reports none."""
    capacities = find_sufficient_capacities(snapshot, claim, storage_class, exact)
    mask = np.full(len(snapshot), capacities is None)
    for _, nodes in capacities or ():
        mask |= nodes
    return mask


def find_sufficient_capacities(
    snapshot: Snapshot, claim: Claim, storage_class: StorageClass, exact: bool
) -> list[tuple[CSIStorageCapacity, Mask]] | None:
    """Return each capacity that has room for a volume of the requested size, with its nodes.

    Return None if the driver does not report its capacity, or no size is requested. Without ``exact`` whole bytes are
    compared.
    """
    storage = snapshot.objects.storage
    driver = storage.drivers.get(storage_class.provisioner)
    if claim.request is None or driver is None or not driver.storage_capacity:
        return None

    def measure(amount: int) -> int:
        return amount if exact else round_to_unit(STORAGE, amount)

    size = measure(claim.request)
    return [
        (capacity, select_nodes(snapshot, capacity.nodes))
        for capacity in storage.capacities.values()
        if capacity.storage_class == storage_class.name
        and capacity.largest is not None
        and measure(capacity.largest) >= size
    ]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The volumes of a class, smallest first."""

    names: list[str]
    # bool[volumes, nodes].
    reach: Matrix


def _list_candidates(snapshot: Snapshot, storage_class: str) -> _Candidates:
    def compute_candidates() -> _Candidates:
        everything = snapshot.objects.storage.volumes.values()
        volumes = sorted(
            (volume for volume in everything if volume.storage_class == storage_class),
            key=lambda volume: volume.capacity,
        )
        reach = np.zeros((len(volumes), len(snapshot)), dtype=np.bool_)
        for row, volume in enumerate(volumes):
            reach[row] = nodes_reaching_volume(snapshot, volume)
        return _Candidates([volume.name for volume in volumes], reach)

    return snapshot.cached_by_objects(("volumes of class", storage_class), compute_candidates)


def choose_volumes(snapshot: Snapshot, claims: list[Claim], node: int) -> list[tuple[Claim, PersistentVolume | None]]:
    """Return the volume that each claim takes on the node at a position; ``None`` if one is provisioned."""
    placed = [claim for claim in claims if claim.selected_node is not None]
    free = sorted((claim for claim in claims if claim.selected_node is None), key=lambda claim: claim.request or 0)
    choices: list[tuple[Claim, PersistentVolume | None]] = [(claim, None) for claim in placed]
    return choices + [
        (claim, volume) for claim, _, volume in _find_matching_volumes(snapshot, free, slice(node, node + 1))
    ]


def without_volume(snapshot: Snapshot, claims: list[Claim]) -> Matrix:
    """Return where each claim gets no existing volume: bool[claims, nodes]."""
    free = sorted((claim for claim in claims if claim.selected_node is None), key=lambda claim: claim.request or 0)
    masks = [unmatched for _, unmatched, _ in _find_matching_volumes(snapshot, free)]
    return np.array(masks, dtype=np.bool_).reshape(len(masks), len(snapshot))


def _find_matching_volumes(
    snapshot: Snapshot, claims: list[Claim], nodes: slice = ALL
) -> list[tuple[Claim, Mask, PersistentVolume | None]]:
    """Return each claim, the ``nodes`` where no volume suits it, and its volume on a single node.

    A claim takes the volume that is reserved for it, else the smallest that suits it; later claims cannot take that
    one.
    """
    rivals = Counter(claim.storage_class for claim in claims)
    taken_by_class: dict[str, Matrix] = {}
    result = []
    for claim in claims:
        candidates, contested = _list_candidates(snapshot, claim.storage_class), rivals[claim.storage_class] > 1
        listed = [snapshot.objects.storage.volumes.get(name) for name in candidates.names]
        # Candidates are cached, and some may be gone with their pods.
        volumes = [volume for volume in listed if volume is not None]
        reach = candidates.reach[:, nodes]
        if len(volumes) < len(listed):
            reach = reach[[volume is not None for volume in listed]]
        none = np.broadcast_to(np.False_, reach.shape)
        taken_volumes = taken_by_class.setdefault(claim.storage_class, none.copy() if contested else none)
        unmatched, row = _match_claim(claim, volumes, reach, taken_volumes if contested else None)
        result.append((claim, unmatched, None if row is None else volumes[row]))
    return result


def _match_claim(
    claim: Claim, volumes: list[PersistentVolume], reach: Matrix, taken_volumes: Matrix | None
) -> tuple[Mask, int | None]:
    """Return the nodes where none of ``volumes`` suits the claim, and the row taken on a single node.

    ``taken_volumes`` marks volumes that other claims of the pod have taken; ``None`` if there are no such claims.
    """
    unmatched = np.ones(reach.shape[1], dtype=np.bool_)
    undecided, row = unmatched.copy(), None
    for reserved in _true_rows(volume.is_bound_to(claim) and _satisfies_claim(volume, claim) for volume in volumes):
        # A reserved volume decides, even if the node cannot reach it.
        nodes = undecided if taken_volumes is None else undecided & ~taken_volumes[reserved]
        undecided = undecided & ~nodes
        nodes = nodes & reach[reserved]
        unmatched &= ~nodes
        row = int(reserved) if nodes.any() else row
        if taken_volumes is not None:
            taken_volumes[reserved] |= nodes
    unreserved = _true_rows(_satisfies_claim(volume, claim) and _is_available(volume, claim) for volume in volumes)
    eligible = reach[unreserved] if taken_volumes is None else reach[unreserved] & ~taken_volumes[unreserved]
    matched = np.flatnonzero(undecided & eligible.any(axis=0))
    unmatched[matched] = False
    if matched.size and (taken_volumes is not None or len(unmatched) == 1):
        # Rows are sorted by capacity, so the first match is the smallest.
        rows = unreserved[eligible[:, matched].argmax(axis=0)]
        row = int(rows[0])
        if taken_volumes is not None:
            taken_volumes[rows, matched] = True
    return unmatched, row


def _satisfies_claim(volume: PersistentVolume, claim: Claim) -> bool:
    """Return True if the volume meets the conditions that hold even for one reserved for the claim."""
    return (
        volume.capacity >= (claim.request or 0)
        and volume.mode == claim.mode
        and volume.attributes_class == claim.attributes_class
        and not volume.terminating
    )


def _is_available(volume: PersistentVolume, claim: Claim) -> bool:
    """Return True if ``claim`` can take ``volume``, which is not reserved for it."""
    return (
        volume.claim is None
        and volume.phase == AVAILABLE
        and (claim.selector is None or claim.selector.matches(volume.labels))
        and claim.access_modes <= volume.access_modes
    )


def _true_rows(suitable: Iterable[bool]) -> NDArray[np.intp]:
    return np.flatnonzero(np.fromiter(suitable, dtype=np.bool_))
