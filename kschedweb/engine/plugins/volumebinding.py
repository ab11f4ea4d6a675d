"""VolumeBinding rejects nodes that the pod's volumes cannot reach, or where a claim gets no volume.

With the feature gate StorageCapacityScoring it prefers nodes with more free storage for the claims.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from kschedweb.engine.config.args import SHAPE_POINT, args_struct, shape_problems
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.config.types import INT64, ListType, StructField
from kschedweb.engine.framework.events import (
    CSI_DRIVER,
    CSI_NODE,
    NODE,
    STORAGE_CAPACITY,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
    EventHint,
    ObjectChange,
)
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.preparation import Preparation, SelectNode, TakeVolume
from kschedweb.engine.framework.scoring import broken_line
from kschedweb.engine.framework.status import SKIP, SUCCESS, CycleError, Status, error, unresolvable
from kschedweb.engine.objects.json_access import get_mapping, get_objects
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import NANO
from kschedweb.engine.objects.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    Claim,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
)
from kschedweb.engine.state.columns import Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.volumes.binder import (
    VolumeChoice,
    assume_pod_volumes,
    bind_pod_volumes,
    revert_assumed_pod_volumes,
)
from kschedweb.engine.state.volumes.matching import nodes_reaching_bound_volume, nodes_with_migrated_plugin
from kschedweb.engine.state.volumes.scoring import UNSAID, storage_scores
from kschedweb.engine.state.volumes.search import VolumeSearchResult, choose_volumes, find_pod_volumes
from kschedweb.engine.state.volumes.storage import MissingClaim, Storage, VolumeError, check_owner
from kschedweb.engine.validation.fields import Problem, Typed, child_path, invalid
from kschedweb.engine.values import dataclass

IMMEDIATE = unresolvable("pod has unbound immediate PersistentVolumeClaims")
MISSING = error("not found")
CHOICES, ASSUMED = "VolumeBinding.choices", "VolumeBinding.assumed"
NO_ACCESS = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_CAPACITY = (
    'running Score plugins: plugin "VolumeBinding" failed with: a CSIStorageCapacity has a maximumVolumeSize and no '
    "capacity, or a claim names its class in an annotation alone: kube-scheduler itself ends on it"
)
# kube-scheduler's default: the less storage is used, the higher the score.
DEFAULT_SHAPE = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass(slots=True)
class PodVolumeClaims:
    """The pod's claims by binding."""

    bound: list[Claim] = field(default_factory=list)
    delayed: list[Claim] = field(default_factory=list)
    # True if a claim with immediate binding is not bound yet.
    immediate: bool = False


class VolumeBinding:
    name = "VolumeBinding"

    def __init__(self, args: PluginArgs, capacity_scoring: bool = True, exact_capacity: bool = False) -> None:
        """Read the arguments; the flags depend on the release.

        ``exact_capacity``: see ``Behaviour.exact_storage_capacity``.
        """
        self.exact_capacity = exact_capacity
        self.curve = broken_line(args.get("shape") or DEFAULT_SHAPE) if capacity_scoring else None

    def events(self) -> list[EventHint]:
        changed = Action.ADD | Action.UPDATE
        return [
            EventHint(ClusterEvent(STORAGE_CLASS, changed), _after_class),
            EventHint(ClusterEvent(VOLUME_CLAIM, changed), _after_claim),
            EventHint(ClusterEvent(VOLUME, changed)),
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL)),
            EventHint(ClusterEvent(CSI_NODE, changed), _after_csi_node),
            EventHint(ClusterEvent(CSI_DRIVER, Action.UPDATE), _after_csi_driver),
            EventHint(ClusterEvent(STORAGE_CAPACITY, changed), self._after_capacity),
        ]

    def _after_capacity(self, pod: Pod, change: ObjectChange) -> bool:
        """Queue if the capacity is new or allows larger volumes."""
        if change.old is None:
            return True
        old, new = CSIStorageCapacity.from_json(change.old).largest, CSIStorageCapacity.from_json(change.new).largest
        if new is None or old is None:
            return new is not None
        # Rounded up to whole bytes up to 1.37, as Quantity.Value does.
        unit = 1 if self.exact_capacity else NANO
        return -(-new // unit) > -(-old // unit)

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER if pod.volumes else PluginScope.NODE

    def concerns(self, pod: Pod) -> bool:
        return bool(pod.volumes)

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        storage = cycle.snapshot.objects.storage
        try:
            claims = _list_claims(storage, cycle.pod)
        except VolumeError as problem:
            return PreFilterResult(unresolvable(str(problem)))
        # Written first, so that Filter finds a state even if PreFilter fails or skips.
        cycle.state[self.name] = PodVolumeClaims()
        if not claims:
            return SKIPPED
        try:
            cycle.state[self.name] = state = _sort_claims(storage, claims)
        except VolumeError as problem:
            return PreFilterResult(error(str(problem)))
        return PreFilterResult(IMMEDIATE) if state.immediate else PASSED

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return False

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        state: PodVolumeClaims | None = cycle.state.get(self.name)
        if state is None:
            return Verdicts.uniform(cycle.num_rows(rows), MISSING)
        answer = _VerdictBuilder(cycle.snapshot)
        answer.check_bound(state.bound)
        if state.delayed:
            answer.add_search(find_pod_volumes(cycle.snapshot, state.delayed, exact=self.exact_capacity))
        return answer.to_verdicts(rows)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        """Assume the volumes found for the pod's claims, so that no other pod gets them."""
        if not cycle.pod.volumes:
            return SUCCESS
        storage = cycle.snapshot.objects.storage
        try:
            delayed = _sort_claims(storage, _list_claims(storage, cycle.pod)).delayed
        except VolumeError as problem:
            return error(str(problem))
        choices = choose_volumes(cycle.snapshot, delayed, cycle.snapshot.index[node]) if delayed else []
        cycle.state[CHOICES] = choices
        cycle.state[ASSUMED] = assume_pod_volumes(cycle.snapshot, choices, node)
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        cycle.state.pop(CHOICES, None)
        revert_assumed_pod_volumes(cycle.snapshot, cycle.state.pop(ASSUMED, []))

    def pre_bind(self, cycle: Cycle, node: str) -> Status:
        """Bind the claims. The volume controller and the provisioners are assumed to do their part."""
        choices: list[VolumeChoice] = cycle.state.get(CHOICES) or []
        if choices:
            bind_pod_volumes(cycle.snapshot, choices, node)
        return SUCCESS

    def preparations(self, cycle: Cycle, node: str) -> list[Preparation]:
        """Return the changes for the API server before binding: volumes for claims, and the node to provision for."""
        choices: list[VolumeChoice] = cycle.state.get(CHOICES) or []
        return [
            SelectNode(claim.namespace, claim.name, claim.uid, node)
            if volume is None
            else TakeVolume(volume.name, claim.namespace, claim.name, claim.uid)
            for claim, volume in choices
        ]

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SKIP if self.curve is None else SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores by the use of storage, on the line of ``shape``: the mean over storage classes; 0 to 100."""
        state: PodVolumeClaims | None = cycle.state.get(self.name)
        if self.curve is None or state is None or not state.delayed:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        scores: Ints = storage_scores(cycle.snapshot, state.delayed, self.curve, exact=self.exact_capacity)[rows]
        if (scores == UNSAID).any():
            raise CycleError(NO_CAPACITY)
        return scores


def _list_claims(storage: Storage, pod: Pod) -> list[Claim]:
    """Return the pod's claims in the order of its volumes. Raises VolumeError if one cannot be used."""
    claims = []
    for volume in pod.volumes:
        if volume.claim is None:
            continue
        try:
            claim = storage.get_claim(pod.namespace, volume.claim)
        except MissingClaim:
            if not volume.ephemeral:
                raise
            waiting = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{volume.claim}"'
            raise VolumeError(waiting) from None
        if claim.phase == "Lost":
            lost = f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume "{claim.volume}"'
            raise VolumeError(lost)
        if claim.terminating:
            raise VolumeError(f'persistentvolumeclaim "{claim.name}" is being deleted')
        if volume.ephemeral:
            check_owner(pod, claim)
        claims.append(claim)
    return claims


def _sort_claims(storage: Storage, claims: list[Claim]) -> PodVolumeClaims:
    """Return the claims by binding mode. Raises VolumeError if a storage class has none."""
    state = PodVolumeClaims()
    for claim in claims:
        if claim.is_bound:
            state.bound.append(claim)
        elif _is_delay_binding_mode(storage, claim) and not claim.volume:
            state.delayed.append(claim)
        else:
            state.immediate = True
    return state


def _is_delay_binding_mode(storage: Storage, claim: Claim) -> bool:
    """Return whether the claim has delayed binding (WaitForFirstConsumer)."""
    storage_class = storage.classes.get(claim.storage_class)
    if storage_class is None:
        return False
    if storage_class.binding_mode is None:
        raise VolumeError(f'VolumeBindingMode not set for StorageClass "{storage_class.name}"')
    return storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER


class _VerdictBuilder:
    """A builder of verdicts: a node collects all reasons, but keeps only its first error."""

    def __init__(self, snapshot: Snapshot) -> None:
        size = len(snapshot)
        self._snapshot = snapshot
        self._reasons: dict[str, Mask] = {
            reason: np.zeros(size, dtype=np.bool_) for reason in (NO_ACCESS, NO_VOLUME, NO_SPACE, NO_SUCH_VOLUME)
        }
        self._errors: list[str] = []
        self._error = np.full(size, -1, dtype=np.int32)

    def check_bound(self, claims: list[Claim]) -> None:
        """Reject nodes that cannot reach a volume. The first such claim gives a node's reason."""
        undecided = np.ones(len(self._snapshot), dtype=np.bool_)
        for claim in claims:
            volume = self._snapshot.objects.storage.volumes.get(claim.volume)
            if volume is None:
                self._reasons[NO_SUCH_VOLUME] |= undecided
                return
            if volume.in_tree is not None and volume.in_tree.error:
                moved = nodes_with_migrated_plugin(self._snapshot, volume.in_tree)
                self._add_error(undecided & moved, f"could not translate pv: {volume.in_tree.error}")
                undecided &= ~moved
            reach = nodes_reaching_bound_volume(self._snapshot, volume)
            self._reasons[NO_ACCESS] |= undecided & ~reach
            undecided &= reach

    def add_search(self, result: VolumeSearchResult) -> None:
        self._reasons[NO_VOLUME] |= result.no_volume
        self._reasons[NO_SPACE] |= result.no_space
        self._add_error(result.failed, result.error)

    def _add_error(self, nodes: Mask, text: str) -> None:
        self._error[nodes & (self._error < 0)] = len(self._errors)
        self._errors.append(text)

    def to_verdicts(self, rows: Rows) -> Verdicts:
        """Return the codes of the rows and their statuses, one for each combination of reasons that occurs."""
        # One bit per reason; an error replaces them. 0, for passing, is put first so that it gets code 0.
        weights = (1 << np.arange(len(self._reasons), dtype=np.int32))[:, None]
        patterns = (np.array(list(self._reasons.values())) * weights).sum(axis=0).astype(np.int32)
        patterns[self._error >= 0] = (1 << len(self._reasons)) + self._error[self._error >= 0]
        distinct, codes = np.unique(np.append(0, patterns[rows]), return_inverse=True)
        return Verdicts(codes[1:].astype(np.int32), [self._pattern_status(int(pattern)) for pattern in distinct])

    def _pattern_status(self, pattern: int) -> Status:
        if pattern >= 1 << len(self._reasons):
            return error(self._errors[pattern - (1 << len(self._reasons))])
        reasons = [reason for bit, reason in enumerate(self._reasons) if pattern >> bit & 1]
        return unresolvable(*reasons) if reasons else SUCCESS


def _after_class(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the class is new or its allowed topologies changed."""
    if change.old is None:
        return True
    return get_objects(change.old, "allowedTopologies") != get_objects(change.new, "allowedTopologies")


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod uses the claim."""
    claim = Claim.from_json(change.new)
    return claim.namespace == pod.namespace and any(volume.claim == claim.name for volume in pod.volumes)


def _after_csi_node(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the CSINode is new or its migrated plugins changed."""
    return change.old is None or CSINode.from_json(change.old).migrated != CSINode.from_json(change.new).migrated


def _after_csi_driver(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the driver no longer tracks capacity and the pod has an inline volume of that driver."""
    old, new = CSIDriver.from_json(change.old), CSIDriver.from_json(change.new)
    volumes = get_objects(get_mapping(pod.raw, "spec"), "volumes", "spec.")
    used = any(get_mapping(volume, "csi", "spec.volumes.").get("driver") == new.name for volume in volumes)
    return used and old.storage_capacity and not new.storage_capacity


ARGS = args_struct(
    "VolumeBindingArgs",
    "Waiting for volumes.",
    StructField(
        "bindTimeoutSeconds",
        INT64,
        "Longest wait for volumes to be bound; 0 for no waiting.",
        pointer=True,
        default=600,
        minimum=0,
    ),
    StructField(
        "shape",
        ListType(SHAPE_POINT),
        "The score by the use of storage, with the feature gate StorageCapacityScoring: on by default since 1.37.",
    ),
)


def set_defaults(args: PluginArgs) -> None:
    if args["bindTimeoutSeconds"] is None:
        args["bindTimeoutSeconds"] = 600


def set_defaults_with_shape(args: PluginArgs) -> None:
    set_defaults(args)
    args["shape"] = args["shape"] or [dict(point) for point in DEFAULT_SHAPE]


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems = _timeout_problems(args, path)
    if args["shape"] is not None:
        points = [{f.name.capitalize(): point[f.name] for f in SHAPE_POINT.fields} for point in args["shape"]]
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        problems.append(invalid(child_path(path, "shape"), Typed(points), detail))
    return problems


def problems_with_shape(args: PluginArgs, path: str) -> list[Problem]:
    return _timeout_problems(args, path) + shape_problems(args["shape"], child_path(path, "shape"))


def _timeout_problems(args: PluginArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if args["bindTimeoutSeconds"] < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        problems.append(invalid(child_path(path, "bindTimeoutSeconds"), args["bindTimeoutSeconds"], detail))
    return problems


def _variant(release: Any) -> PluginVariant:
    capacity_scoring = release.is_enabled("StorageCapacityScoring")
    exact = release.behaviour.exact_storage_capacity
    variant: PluginVariant = {
        "factory": partial(VolumeBinding, capacity_scoring=capacity_scoring, exact_capacity=exact)
    }
    if capacity_scoring:
        variant["args"] = ArgsSpec(ARGS, set_defaults_with_shape, problems_with_shape)
    return variant


SPEC = PluginSpec(
    "VolumeBinding",
    frozenset({"preFilter", "filter", "preScore", "score", "reserve", "preBind"}),
    "Finds nodes where the pod's volumes exist or can be made, and binds them.",
    ArgsSpec(ARGS, set_defaults, validate_args),
    factory=VolumeBinding,
    variant=_variant,
)
