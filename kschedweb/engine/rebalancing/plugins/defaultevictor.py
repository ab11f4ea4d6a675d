"""DefaultEvictor protects pods from every other plugin."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.config.types import BOOL, DURATION, INT32, STRING, ListType, Struct, StructField, text
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.json_access import get_string as string
from kschedweb.engine.objects.labels import Selector, SelectorError, label_selector
from kschedweb.engine.rebalancing.arguments import SELECTOR, UINT, Args, args_struct, format_go_list
from kschedweb.engine.rebalancing.handle import FILTER, Handle, PluginError, PluginSpec
from kschedweb.engine.rebalancing.pods import EVICT, FAILED, PREFER_NO_EVICTION, PodView
from kschedweb.engine.rebalancing.selectors import parse_selector
from kschedweb.engine.validation.golang import SECOND, quote

NAME = "DefaultEvictor"
# The priority of system-critical pods, `SystemCriticalPriority`.
CRITICAL = 2_000_000_000
# Annotations of static pods.
MIRROR, SOURCE = "kubernetes.io/config.mirror", "kubernetes.io/config.source"
LOCAL_STORAGE, CRITICAL_PODS = "PodsWithLocalStorage", "SystemCriticalPods"
BARE, DAEMONS = "FailedBarePods", "DaemonSetPods"
WITH_CLAIMS, WITHOUT_BUDGET, WITH_DEVICES = "PodsWithPVC", "PodsWithoutPDB", "PodsWithResourceClaims"
# Protections by default, and those that can be added.
DEFAULT = (LOCAL_STORAGE, CRITICAL_PODS, BARE, DAEMONS)
EXTRA = (WITH_CLAIMS, WITHOUT_BUDGET, WITH_DEVICES)
# Deprecated argument -> (its value that protects, protection).
OLD = {
    "evictLocalStoragePods": (False, LOCAL_STORAGE),
    "evictDaemonSetPods": (False, DAEMONS),
    "evictSystemCriticalPods": (False, CRITICAL_PODS),
    "ignorePvcPods": (True, WITH_CLAIMS),
    "ignorePodsWithoutPDB": (True, WITHOUT_BUDGET),
    "evictFailedBarePods": (False, BARE),
}
MANDATORY = "Mandatory"
# Values of noEvictionPolicy.
POLICIES = ("Preferred", MANDATORY)
_PROTECTION = text("defaultevictor.PodProtection")

THRESHOLD = Struct(
    "api.PriorityThreshold",
    "From which priority on pods stay: a value, or a class.",
    (
        StructField("value", INT32, "Pods of this priority and above stay.", pointer=True, omit_empty=False),
        StructField("name", STRING, "The class that has that priority.", omit_empty=False),
    ),
)
_CLASS = Struct(
    "defaultevictor.ProtectedStorageClass",
    "A storage class.",
    (StructField("name", STRING, "Its name.", omit_empty=False),),
)
_WITH_CLAIMS = Struct(
    "defaultevictor.PodsWithPVCConfig",
    "Which claims protect a pod.",
    (StructField("protectedStorageClasses", ListType(_CLASS), "Only claims of these classes."),),
)
_CONFIG = Struct(
    "defaultevictor.PodProtectionsConfig",
    "Settings of single protections.",
    (StructField("PodsWithPVC", _WITH_CLAIMS, "Claims that protect a pod.", pointer=True),),
)
_PROTECTIONS = Struct(
    "defaultevictor.PodProtections",
    "Which pods are protected.",
    (
        StructField("extraEnabled", ListType(_PROTECTION), "Extra protections, beyond the defaults."),
        StructField("defaultDisabled", ListType(_PROTECTION), "Default protections to turn off."),
        StructField("config", _CONFIG, "Settings of single protections.", pointer=True),
    ),
)
ARGS = args_struct(
    "defaultevictor.DefaultEvictorArgs",
    "Pods that are never evicted.",
    StructField("nodeSelector", STRING, "Nodes on which nodeFit looks for room."),
    StructField("labelSelector", SELECTOR, "Only these pods may go.", pointer=True),
    StructField("namespaceLabelSelector", SELECTOR, "Only pods of these namespaces may go.", pointer=True),
    StructField("priorityThreshold", THRESHOLD, "Pods from this priority on stay.", pointer=True),
    StructField("nodeFit", BOOL, "Evict a pod only if it fits on another node."),
    StructField("minReplicas", UINT, "Evict a pod only if its owner has at least this many."),
    StructField("minPodAge", DURATION, "Evict only pods at least this old.", pointer=True),
    StructField(
        "noEvictionPolicy", text("defaultevictor.NoEvictionPolicy"), "Treatment of the prefer-no-eviction annotation."
    ),
    StructField("podProtections", _PROTECTIONS, "Which pods are protected."),
    *(StructField(name, BOOL, "Deprecated form of podProtections.") for name in OLD),
)
Check = Callable[[PodView], bool]


def validate_args(args: Args) -> list[str]:
    threshold, protections = args["priorityThreshold"], args["podProtections"]
    faults = []
    if threshold and threshold["value"] is not None and threshold["name"]:
        faults.append("priority threshold misconfigured, only one of priorityThreshold fields can be set")
    if args["noEvictionPolicy"] not in ("", *POLICIES):
        faults.append(f"noEvictionPolicy accepts only {format_go_list(map(quote, POLICIES))} values")
    if any(args[name] for name in OLD) and (protections["extraEnabled"] or protections["defaultDisabled"]):
        message = "PodProtections.ExtraEnabled or PodProtections.DefaultDisabled"
        faults.append(f"cannot use Deprecated fields alongside {message}")
    return faults + _protection_faults(protections)


def _protection_faults(protections: Json) -> list[str]:
    extra, disabled = protections["extraEnabled"] or [], protections["defaultDisabled"] or []
    faults = []
    for field_name, names, valid_names in (("ExtraEnabled", extra, EXTRA), ("DefaultDisabled", disabled, DEFAULT)):
        message = f"invalid pod protection policy in {field_name}"
        valid = f"Valid options are: {format_go_list(valid_names)}"
        faults += [f"{message}: {quote(name)}. {valid}" for name in names if name not in valid_names]
    for field_name, names in (("DefaultDisabled", disabled), ("ExtraEnabled", extra)):
        if len(set(names)) < len(names):
            faults.append(f"PodProtections.{field_name} contains duplicate entries")
    if WITH_CLAIMS in extra:
        message = "PodProtections.Config.PodsWithPVC.ProtectedStorageClasses"
        empty = [place for place, name in enumerate(_protected_classes(protections)) if not name]
        faults += [f"{message}[{place}] name cannot be empty" for place in empty]
    return faults


def active_protections(args: Args) -> frozenset[str]:
    """Return the protections in force: by the older arguments if the newer ones are not used."""
    extra, disabled = (args["podProtections"][name] or [] for name in ("extraEnabled", "defaultDisabled"))
    if extra or disabled:
        return frozenset(DEFAULT) - set(disabled) | set(extra)
    return frozenset(protection for name, (protects, protection) in OLD.items() if args[name] == protects)


class DefaultEvictor:
    """The filter that every plugin asks before it evicts a pod."""

    def __init__(self, args: Args, handle: Handle) -> None:
        self._handle, self._args = handle, args
        self._mandatory = args["noEvictionPolicy"] == MANDATORY
        self._checks = _build_constraints(args, handle)
        self._namespaces = _namespace_selector(args["namespaceLabelSelector"])
        self._nodes = None
        if args["nodeFit"]:
            try:
                nodes = handle.cluster.ready_nodes(parse_selector(args["nodeSelector"]))
            except SelectorError:
                # The original logs the error and evicts nothing.
                nodes = []
            self._nodes = handle.room.node_mask(nodes)

    def filter(self, pod: PodView) -> bool:
        if EVICT in pod.annotations:
            return True
        if self._mandatory and PREFER_NO_EVICTION in pod.annotations:
            return False
        if MIRROR in pod.annotations or pod.annotations.get(SOURCE, "api") != "api" or pod.pod.terminating:
            return False
        return all(check(pod) for check in self._checks)

    def pre_eviction_filter(self, pod: PodView) -> bool:
        if self._nodes is not None and not self._handle.room.fits_any_node(pod, self._nodes, elsewhere=True):
            return False
        if self._namespaces is None:
            return True
        labels = self._handle.cluster.namespaces.get(pod.namespace)
        return labels is not None and self._namespaces.matches(labels)


def _build_constraints(args: Args, handle: Handle) -> list[Check]:
    """Return the checks that a pod must pass to be evicted."""
    holds = active_protections(args)
    constraints: dict[str, Check] = {
        LOCAL_STORAGE: lambda pod: (
            not any(any(volume.get(kind) is not None for kind in ("hostPath", "emptyDir")) for volume in pod.volumes)
        ),
        DAEMONS: lambda pod: all(owner.kind != "DaemonSet" for owner in pod.owners),
        WITH_CLAIMS: _claim_constraint(_protected_classes(args["podProtections"]), handle),
        WITHOUT_BUDGET: lambda pod: any(budget.selects_pod(pod) for budget in handle.cluster.budgets),
        WITH_DEVICES: lambda pod: not pod.spec.get("resourceClaims"),
        CRITICAL_PODS: _priority_constraint(min(CRITICAL, _priority_threshold(args))),
        BARE: lambda pod: bool(pod.owners),
    }
    checks = [check for name, check in constraints.items() if name in holds]
    if BARE not in holds:
        checks.append(lambda pod: bool(pod.owners) or pod.phase == FAILED)
    if args["labelSelector"] is not None:
        checks.append(_label_constraint(args["labelSelector"]))
    if (min_replicas := args["minReplicas"]) > 1:
        checks.append(
            lambda pod: len(pod.owners) != 1 or len(handle.cluster.by_owner[pod.owners[0].uid]) >= min_replicas
        )
    if (age := args["minPodAge"]) is not None:
        checks.append(lambda pod: pod.started is not None and handle.now - pod.started >= age / SECOND)
    return checks


def _priority_threshold(args: Args) -> int:
    threshold = args["priorityThreshold"]
    return CRITICAL if threshold is None or threshold["value"] is None else int(threshold["value"])


def _priority_constraint(below: int) -> Check:
    return lambda pod: pod.priority is None or pod.priority < below


def _label_constraint(raw: Json) -> Check:
    try:
        selector = label_selector(raw)
    except SelectorError as error:
        raise PluginError(str(error)) from None
    return lambda pod: selector.matches(pod.pod.labels)


def _namespace_selector(raw: Json | None) -> Selector | None:
    if raw is None or not (raw["matchLabels"] or raw["matchExpressions"]):
        return None
    try:
        return label_selector(raw)
    except SelectorError as error:
        raise PluginError(f"unable to convert namespaceLabelSelector to label selector: {error}") from None


def _protected_classes(protections: Json) -> list[str]:
    """Return the storage classes whose claims protect; empty if all do."""
    config = (protections["config"] or {}).get("PodsWithPVC") or {}
    return [storage_class["name"] for storage_class in config.get("protectedStorageClasses") or []]


def _claim_constraint(classes: list[str], handle: Handle) -> Check:
    """Return the check for pods with claims, of protected ``classes`` only if there are any.

    A claim that is unknown or without a class protects its pod.
    """

    def claim_keys(pod: PodView) -> list[str]:
        sources = [
            get_mapping(volume, "persistentVolumeClaim")
            for volume in pod.volumes
            if volume.get("persistentVolumeClaim") is not None
        ]
        return [f"{pod.namespace}/{string(source, 'claimName')}" for source in sources]

    if not classes:
        return lambda pod: not claim_keys(pod)
    class_by_claim = handle.cluster.claims
    return lambda pod: all(
        class_by_claim.get(claim) and class_by_claim[claim] not in classes for claim in claim_keys(pod)
    )


SPEC = PluginSpec(NAME, FILTER, ARGS, DefaultEvictor, validate_args)
