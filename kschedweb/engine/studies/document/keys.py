"""The keys of a scenario document, with their types and help texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kschedweb.engine.documents.leaves import (
    Choice,
    Duration,
    Flag,
    LabelSelector,
    Number,
    Object,
    Quantity,
    Text,
)
from kschedweb.engine.documents.types import REQUIRED, ByType, Either, Field, ListOf, MapOf, Struct
from kschedweb.engine.objects.access import Json, ObjectError, mapping
from kschedweb.engine.objects.labels import is_label_value, is_qualified_name
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.limits import MOST_CHANGES, MOST_COUNT, MOST_OBJECTS, MOST_REPLICAS, MOST_SHAPES

VERSION, KIND = "kschedweb/v1", "Scenario"
DAY = parts.DAY
LEAST_WINDOW = 1800.0  # seconds
MOST_NAMES = 100_000
CONTROLLERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
FORMATS = ("openb", "csv", "records")
NAME = Text(1, 63, r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", "lower-case letters, digits and hyphens, as a name in Kubernetes")
OBJECT_NAME = Text(
    1, 253, r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", "lower-case letters, digits, hyphens and dots, as a name in Kubernetes"
)
FILE = Text(1, 200)
WORKLOAD = Text(
    1, 400, rf"[^/\s]+/({'|'.join(CONTROLLERS)})/[^/\s]+", f"namespace/Kind/name, Kind one of {', '.join(CONTROLLERS)}"
)


def _labels(raw: Json) -> None:
    for key, value in raw.items():
        if not isinstance(key, str) or not is_qualified_name(key):
            raise ObjectError(f"[{key!r}]: is no key of a label")
        if value is not None and (not isinstance(value, str) or not is_label_value(value)):
            raise ObjectError(f"[{key!r}]: is no value of a label")


def _manifest(raw: Json) -> None:
    """Check that pods can be made from a workload."""
    metadata = mapping(raw, "metadata")
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise ObjectError("metadata.name: is missing")
    if raw.get("kind") == "Pod":
        Pod.read(raw)
        return
    template = mapping(mapping(raw, "spec"), "template", "spec.")
    if not mapping(template, "spec", "spec.template.").get("containers"):
        raise ObjectError("spec.template.spec.containers: is missing")
    try:
        inner = {**mapping(template, "metadata", "spec.template."), "name": "a"}
        Pod.read({"metadata": inner, "spec": template["spec"]})
    except ObjectError as error:
        raise ObjectError(f"spec.template.{error}") from None


def _taint(raw: Json) -> None:
    if raw.get("effect") not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        raise ObjectError("effect: must be NoSchedule, PreferNoSchedule or NoExecute")
    if not isinstance(raw.get("key"), str) or not raw["key"]:
        raise ObjectError("key: is missing")
    Node.read({"metadata": {"name": "a"}, "spec": {"taints": [raw]}})


def _spec(raw: Json) -> None:
    Pod.read({"metadata": {"name": "a"}, "spec": {**raw, "containers": [{"name": "main"}]}})


def _object(raw: Json) -> None:
    if not isinstance(raw.get("kind"), str) or not raw["kind"]:
        raise ObjectError("kind: is missing")
    if raw["kind"] != "List" and not mapping(raw, "metadata").get("name"):
        raise ObjectError("metadata.name: is missing")


LABEL_VALUES = MapOf(Text(0, 63, r"|[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", "a value of a label"))
TAINTS = ListOf(Object(_taint), most=100)
REPLICAS = Number(0, MOST_REPLICAS, whole=True)
WHICH = (
    Field("nodes", ListOf(OBJECT_NAME, 1, MOST_NAMES), "Names of nodes."),
    Field("selector", LabelSelector(), "A label selector of nodes."),
    Field("zone", Text(1, 63), "All nodes of this zone."),
)
ONE_WHICH = (("nodes", "selector", "zone"),)


def _of_nodes(make: Any, help: str, *more: Field, one_of: tuple[tuple[str, ...], ...] = ()) -> Struct:
    return Struct(make.__name__, help, (*WHICH, *more), make=make, one_of=ONE_WHICH + one_of)


ADD_NODES = Struct(
    "AddNodes",
    "Nodes join: copies of a node, new ones, or those of a file.",
    (
        Field("count", Number(1, MOST_COUNT, whole=True), "How many nodes.", 1),
        Field("like", OBJECT_NAME, "The node that they are copies of."),
        Field("name", NAME, "What they are called, followed by a number."),
        Field("file", FILE, "The file that lists them."),
        Field("format", Choice(("openb",)), "The form of the file.", "openb"),
        Field("labels", LABEL_VALUES, "Labels beside those of the node that they are like.", {}),
        Field("taints", TAINTS, "Taints beside those of the node that they are like.", ()),
        Field("allocatable", MapOf(Quantity()), "Amounts by resource; 110 pods unless said else.", {}),
        Field("zones", ListOf(Text(1, 63), 1, 1000), "Zones that the nodes go to, one after the other.", ()),
    ),
    make=parts.AddNodes,
    one_of=(("like", "name", "file"),),
)
ACTIONS: dict[str, Struct] = {
    "addNodes": ADD_NODES,
    "removeNodes": _of_nodes(parts.RemoveNodes, "Nodes are gone at once, and their pods with them."),
    "drainNodes": _of_nodes(
        parts.DrainNodes, "Nodes are cordoned and their pods evicted, but for those of DaemonSets."
    ),
    "cordonNodes": _of_nodes(parts.CordonNodes, "Nodes take no new pods."),
    "uncordonNodes": _of_nodes(parts.UncordonNodes, "Nodes take new pods again."),
    "taintNodes": _of_nodes(
        parts.TaintNodes,
        "Nodes get taints, or lose them.",
        Field("taints", TAINTS, "Taints that the nodes get.", ()),
        Field("remove", ListOf(Text(1, 317), 1, 100), "Keys of taints that the nodes lose.", ()),
    ),
    "labelNodes": _of_nodes(
        parts.LabelNodes,
        "Nodes get labels, or lose them.",
        Field("labels", Object(_labels), "Labels; null takes a label away.", REQUIRED),
    ),
    "resizeNodes": _of_nodes(
        parts.ResizeNodes,
        "Nodes have more or less to give.",
        Field("allocatable", MapOf(Quantity(), least=1), "Amounts by resource."),
        Field("factor", Number(0, 1000, above=True), "What CPU and memory are multiplied by."),
        one_of=(("allocatable", "factor"),),
    ),
    "failZone": Struct(
        "FailZone",
        "Kubelets of a zone fall silent.",
        (Field("zone", Text(1, 63), "The zone.", REQUIRED),),
        make=parts.FailZone,
    ),
    "scaleWorkload": Struct(
        "ScaleWorkload",
        "A workload has more pods, or fewer.",
        (
            Field("workload", WORKLOAD, "namespace/Kind/name.", REQUIRED),
            Field("replicas", REPLICAS, "How many pods it has then.", REQUIRED),
        ),
        make=parts.ScaleWorkload,
    ),
    "addWorkload": Struct(
        "AddWorkload",
        "A workload comes with its pods.",
        (
            Field("manifest", Object(_manifest, (*CONTROLLERS, "Pod")), "The workload.", REQUIRED),
            Field("replicas", REPLICAS, "How many pods, in place of what the manifest says."),
            Field("life", Duration(above=True), "How long each pod runs; for ever where it is left out."),
        ),
        make=parts.AddWorkload,
    ),
    "removeWorkload": Struct(
        "RemoveWorkload",
        "A workload goes with its pods.",
        (Field("workload", WORKLOAD, "namespace/Kind/name.", REQUIRED),),
        make=parts.RemoveWorkload,
    ),
}


def _change(at: float, **actions: Any) -> parts.ScenarioChange:
    return next(parts.ScenarioChange(at, action, key) for key, action in actions.items() if action is not None)


CHANGE = Struct(
    "Change",
    "",
    (
        Field("at", Duration(), "When, from the beginning.", 0.0),
        *(Field(key, shape, shape.help, argument=key) for key, shape in ACTIONS.items()),
    ),
    make=_change,
    one_of=(tuple(ACTIONS),),
)
COLUMN = ByType(
    Text(1, 200),
    Struct(
        "Column",
        "",
        (
            Field("column", Text(1, 200), "The column's name in the first line.", REQUIRED),
            Field("factor", Number(0, 1e15, above=True), "What its numbers are multiplied by.", 1.0),
        ),
        make=parts.Column,
    ),
    parts.Column,
)
COLUMNS = Struct(
    "Columns",
    "",
    (
        Field("time", COLUMN, "When the pod comes: seconds, or a time with its date.", REQUIRED),
        Field("cpu", COLUMN, "CPU requested: cores, or a quantity."),
        Field("memory", COLUMN, "Memory requested: bytes, or a quantity."),
        Field("name", COLUMN, "The pod's name."),
        Field("namespace", COLUMN, "The pod's namespace."),
        Field("duration", COLUMN, "Seconds that the pod runs."),
        Field("end", COLUMN, "When the pod leaves, counted as its time is."),
        Field("priorityClass", COLUMN, "The pod's priority class."),
        Field("resources", MapOf(COLUMN), "Columns of further resources.", {}),
        Field("labels", MapOf(COLUMN), "Columns of labels.", {}),
    ),
    make=parts.Columns,
)
TRACE = Struct(
    "Trace",
    "Pods as they were recorded.",
    (
        Field("file", FILE, "The file.", REQUIRED),
        Field("format", Choice(FORMATS), "The form of the file.", REQUIRED),
        Field("columns", COLUMNS, "Which column of a CSV file says what."),
        Field("speed", Number(0, 1e9, above=True), "What times are divided by.", 1.0),
        Field("leave", Flag(), "Whether pods leave as recorded, or stay.", True),
        Field("limit", Number(1, whole=True), "How many pods are taken at most."),
        Field("namespace", NAME, "Namespace of pods that name none.", "default"),
    ),
    make=parts.Trace,
)
LIFE = ByType(
    Duration(above=True),
    Struct(
        "Life",
        "",
        (
            Field("mean", Duration(above=True), "The mean of an exponential distribution."),
            Field("least", Duration(above=True), "The shortest, evenly on a logarithmic scale."),
            Field("most", Duration(above=True), "The longest."),
        ),
        make=parts.Life,
        one_of=(("mean", "least"),),
    ),
)
POD_SHAPE = Struct(
    "PodShape",
    "",
    (
        Field("cpu", Quantity(), "CPU requested."),
        Field("memory", Quantity(), "Memory requested."),
        Field("name", NAME, "What the pods' deployment is called."),
        Field("weight", Number(0, 1e9), "How often it comes, against the others.", 1.0),
        Field("life", LIFE, "How long such a pod runs; for ever where it is left out."),
        Field("labels", LABEL_VALUES, "Labels of the pods.", {}),
        Field("resources", MapOf(Quantity()), "Further resources requested.", {}),
        Field("spec", Object(_spec), "Further fields of the pod's spec, such as tolerations.", {}),
    ),
    make=parts.PodShape,
)
TIDE = Struct(
    "Tide",
    "",
    (
        Field("low", Number(0, 1), "The least rate of a day, as a share of the highest.", 0.3),
        Field("peak", Duration(), "The hour of the highest rate; the scenario begins at midnight.", 14 * 3600.0),
    ),
    make=parts.Tide,
)
GENERATE = Struct(
    "Generate",
    "Pods that come at random.",
    (
        Field("perHour", Number(0, 1e7, above=True), "Pods an hour, at the peak where there are tides.", REQUIRED),
        Field("tide", TIDE, "How the rate swings over a day; left out: it does not."),
        Field("shapes", ListOf(POD_SHAPE, 1, MOST_SHAPES), "The kinds of pods.", REQUIRED),
        Field("namespace", NAME, "The pods' namespace.", "default"),
        Field("at", Duration(), "When the first can come.", 0.0),
        Field("until", Duration(above=True), "When no more come.", DAY),
    ),
    make=parts.Generate,
)


def _arrival(trace: parts.Trace | None, generate: parts.Generate | None) -> parts.Trace | parts.Generate:
    found = trace or generate
    assert found is not None
    return found


def _document(api_version: str, kind: str, **values: Any) -> parts.Document:
    changes = tuple(
        replace(change, path=f"changes[{place}].{change.path}") for place, change in enumerate(values.pop("changes"))
    )
    arrivals = tuple(
        replace(one, path=f"arrivals[{place}].{'trace' if isinstance(one, parts.Trace) else 'generate'}")
        for place, one in enumerate(values.pop("arrivals"))
    )
    return parts.Document(changes=changes, arrivals=arrivals, **values)


def _base(snapshot: str | None, empty: bool | None) -> parts.Base:
    if empty is False:
        raise ValueError("empty can only be true: name a snapshot, or leave base out")
    return parts.Base(snapshot)


DOCUMENT = Struct(
    "Scenario",
    "A cluster, and what happens to it.",
    (
        Field("apiVersion", Choice((VERSION,)), "The form of this document.", VERSION),
        Field("kind", Choice((KIND,)), "The kind of this document.", KIND),
        Field("name", Text(1, 200), "What the scenario is called.", REQUIRED),
        Field("description", Text(), "What it is for, as plain text.", ""),
        Field(
            "base",
            Struct(
                "Base",
                "",
                (Field("snapshot", Text(1, 64), "Id of a snapshot."), Field("empty", Flag(), "Begin with nothing.")),
                make=_base,
                one_of=(("snapshot", "empty"),),
            ),
            "What the scenario begins with.",
            parts.Base(),
        ),
        Field("objects", ListOf(Object(_object), most=MOST_OBJECTS), "Kubernetes objects added to the base.", ()),
        Field("changes", ListOf(CHANGE, most=MOST_CHANGES), "What is changed, in this order.", ()),
        Field(
            "arrivals",
            ListOf(
                Struct(
                    "Arrival",
                    "",
                    (Field("trace", TRACE), Field("generate", GENERATE)),
                    make=_arrival,
                    one_of=(("trace", "generate"),),
                ),
                most=100,
            ),
            "Pods that come over time.",
            (),
        ),
        Field(
            "use",
            Struct(
                "UseOf",
                "",
                (
                    Field(
                        "from",
                        Choice((parts.NONE, parts.WATERMARKS, parts.HISTORY, parts.TRACE)),
                        "none: nothing is measured; watermarks: what was measured when the snapshot was taken, moved "
                        "with the pods; history: the same, as it went up and down before the snapshot; trace: recorded "
                        "machines that workloads follow.",
                        REQUIRED,
                        argument="source",
                    ),
                    Field(
                        "window",
                        Duration(LEAST_WINDOW),
                        "How long before the snapshot the history begins that the run goes through; 24h unless told.",
                    ),
                    Field("file", FILE, "The trace: a line a machine, its name and a percentage each five minutes."),
                ),
                make=parts.UseOf,
            ),
            "What pods and nodes really use.",
            parts.UseOf(),
        ),
        Field(
            "run",
            Struct(
                "RunOf",
                "",
                (
                    Field(
                        "until",
                        Either("quiet", Duration(above=True)),
                        "When it ends; quiet: when nothing is left to do.",
                    ),
                    Field(
                        "place",
                        Choice((parts.ALL, parts.PENDING, parts.ARRIVALS)),
                        "all: pods of the base are placed anew, in the order of their creation; pending: those that "
                        "have a node keep it; arrivals: those that wait are left out too.",
                        parts.ALL,
                    ),
                    Field("cycle", Duration(), "What a try to schedule takes.", 0.001),
                    Field("sample", Duration(above=True), "How often is measured how things stand.", 60.0),
                    Field("controllers", Flag(), "Whether nodes in trouble are tainted and pods evicted.", True),
                ),
                make=parts.RunOf,
            ),
            "How the scenario is run.",
            parts.RunOf(),
        ),
    ),
    make=_document,
)
