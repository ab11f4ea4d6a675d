"""The keys of each change of a cluster in a scenario, with their types and help texts."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.documents.leaves import (
    Duration,
    EnumChoice,
    LabelSelector,
    Number,
    Object,
    Problems,
    Quantity,
    Text,
)
from kschedweb.engine.documents.types import REQUIRED, ListType, MapType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.labels import is_label_value, is_qualified_name
from kschedweb.engine.objects.node import Node
from kschedweb.engine.studies.document import parts, workloads
from kschedweb.engine.studies.document.limits import MOST_COUNT
from kschedweb.engine.values import dataclass

# Names in one list.
MOST_NAMES = 100_000
NAME = Text(1, 63, r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lower-case letters, digits and hyphens, as a name in Kubernetes")
OBJECT_NAME = Text(
    1, 253, r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", "lower-case letters, digits, hyphens and dots, as a name in Kubernetes"
)
FILE = Text(1, 200)


def _check_labels(raw: Json) -> None:
    for key, value in raw.items():
        if not isinstance(key, str) or not is_qualified_name(key):
            raise ObjectError(f"[{key!r}]: is no key of a label")
        if value is not None and (not isinstance(value, str) or not is_label_value(value)):
            raise ObjectError(f"[{key!r}]: is no value of a label")


def _check_taint(raw: Json) -> None:
    if raw.get("effect") not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise ObjectError("effect: must be NoSchedule, PreferNoSchedule or NoExecute")
    if not isinstance(raw.get("key"), str) or not raw["key"]:
        raise ObjectError("key: is missing")
    # The node's own parser checks the rest, with its messages.
    Node.from_json({"metadata": {"name": "a"}, "spec": {"taints": [raw]}})


def _read_conditions(**statuses: str | None) -> dict[str, str]:
    conditions = {kind: status for kind, status in statuses.items() if status is not None}
    if not conditions:
        raise ValueError("must name a condition: Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable")
    return conditions


LABEL_VALUE = Text(0, 63, r"|[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", "a value of a label")
LABEL_VALUES = MapType(LABEL_VALUE)
TAINTS = ListType(Object(_check_taint), max_items=100)


@dataclass(frozen=True, slots=True)
class _Status(EnumChoice):
    """A condition's status. YAML reads True and False without quotes as booleans, which are accepted, too."""

    def read(self, raw: Any, path: str, problems: Problems) -> str:
        return EnumChoice.read(self, str(raw) if isinstance(raw, bool) else raw, path, problems)


STATUS = _Status(("True", "False", "Unknown"))
CONDITIONS = Struct(
    "Conditions",
    "",
    (
        StructField("Ready", STATUS, "Unknown: the kubelet is silent.", argument="Ready"),
        *(StructField(kind, STATUS, "Whether the kubelet reports it.", argument=kind) for kind in parts.PRESSURES),
        StructField("NetworkUnavailable", STATUS, "Whether the network is not set up.", argument="NetworkUnavailable"),
    ),
    make=_read_conditions,
)
POD = Text(3, 317, r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?", "namespace/name of a pod")
# The fields of `parts.NodeSelection`, of which a change has exactly one.
NODE_SELECTION = (
    StructField("nodes", ListType(OBJECT_NAME, 1, MOST_NAMES), "Names of nodes."),
    StructField("selector", LabelSelector(), "A label selector of nodes."),
    StructField("zone", Text(1, 63), "All nodes of this zone."),
)
ONE_NODE_SELECTION = (("nodes", "selector", "zone"),)


def _node_action(make: Any, help: str, *more: StructField, one_of: tuple[tuple[str, ...], ...] = ()) -> Struct:
    return Struct(make.__name__, help, (*NODE_SELECTION, *more), make=make, one_of=ONE_NODE_SELECTION + one_of)


ADD_NODES = Struct(
    "AddNodes",
    "Nodes join: copies of a node, new ones, or those of a file.",
    (
        StructField("count", Number(1, MOST_COUNT, whole=True), "How many nodes.", 1),
        StructField("like", OBJECT_NAME, "The node to copy."),
        StructField("name", NAME, "Name prefix; a number follows."),
        StructField("file", FILE, "The file that lists them."),
        StructField("format", EnumChoice(("openb",)), "Format of the file.", "openb"),
        StructField("labels", LABEL_VALUES, "Labels in addition to the copied node's.", {}),
        StructField("taints", TAINTS, "Taints in addition to the copied node's.", ()),
        StructField("allocatable", MapType(Quantity()), "Amounts by resource. Without pods: 110.", {}),
        StructField("zones", ListType(Text(1, 63), 1, 1000), "Zones for the nodes, in turn.", ()),
    ),
    make=parts.AddNodes,
    one_of=(("like", "name", "file"),),
)
ACTIONS: dict[str, Struct] = {
    "addNodes": ADD_NODES,
    "removeNodes": _node_action(parts.RemoveNodes, "Nodes disappear at once, with their pods."),
    "drainNodes": _node_action(parts.DrainNodes, "Nodes are cordoned and their pods evicted, except DaemonSet pods."),
    "cordonNodes": _node_action(parts.CordonNodes, "Nodes take no new pods."),
    "uncordonNodes": _node_action(parts.UncordonNodes, "Nodes take new pods again."),
    "taintNodes": _node_action(
        parts.TaintNodes,
        "Add taints to nodes, or remove them.",
        StructField("taints", TAINTS, "Taints that the nodes get.", ()),
        StructField("remove", ListType(Text(1, 317), 1, 100), "Keys of taints that the nodes lose.", ()),
    ),
    "labelNodes": _node_action(
        parts.LabelNodes,
        "Add labels to nodes, or remove them.",
        StructField("labels", Object(_check_labels), "Labels; null removes a label.", REQUIRED),
    ),
    "resizeNodes": _node_action(
        parts.ResizeNodes,
        "Change the allocatable of nodes.",
        StructField("allocatable", MapType(Quantity(), min_items=1), "Amounts by resource."),
        StructField("factor", Number(0, 1000, above=True), "Factor for CPU and memory."),
        one_of=(("allocatable", "factor"),),
    ),
    "setConditions": _node_action(
        parts.SetConditions,
        "Conditions of nodes change; taints follow from them.",
        StructField("conditions", CONDITIONS, "The status of each condition that changes.", REQUIRED),
    ),
    "evictPods": Struct(
        "EvictPods",
        "Pods are evicted; their controllers replace them.",
        (
            StructField("pods", ListType(POD, 1, MOST_NAMES), "Pods as namespace/name.", REQUIRED),
            StructField("every", Duration(), "Interval between them.", 0.0, argument="interval"),
        ),
        make=parts.EvictPods,
    ),
    "failZone": Struct(
        "FailZone",
        "Kubelets of a zone fall silent.",
        (StructField("zone", Text(1, 63), "The zone.", REQUIRED),),
        make=parts.FailZone,
    ),
    **workloads.ACTIONS,
}


def _read_change(at: float, **actions: Any) -> parts.ScenarioChange:
    return next(parts.ScenarioChange(at, action, key) for key, action in actions.items() if action is not None)


CHANGE = Struct(
    "Change",
    "",
    (
        StructField("at", Duration(), "Time from the start.", 0.0),
        *(StructField(key, shape, shape.help, argument=key) for key, shape in ACTIONS.items()),
    ),
    make=_read_change,
    one_of=(tuple(ACTIONS),),
)
