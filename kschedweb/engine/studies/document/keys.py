"""The keys of a scenario document, with their types and help texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kschedweb.engine.controllers.admission import DEFAULT, OFF_BY_DEFAULT, ON_BY_DEFAULT
from kschedweb.engine.documents.leaves import (
    Duration,
    EnumChoice,
    Flag,
    Number,
    Object,
    Quantity,
    Text,
)
from kschedweb.engine.documents.types import REQUIRED, ByType, Either, ListType, MapType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.pricing import price_table
from kschedweb.engine.studies.document import parts, workloads
from kschedweb.engine.studies.document.actions import CHANGE, FILE, LABEL_VALUES, NAME
from kschedweb.engine.studies.document.autoscalers import AUTOSCALER
from kschedweb.engine.studies.document.deschedulers import DESCHEDULER
from kschedweb.engine.studies.document.limits import MOST_CHANGES, MOST_OBJECTS, MOST_SHAPES

VERSION, KIND = "kschedweb/v1", "Scenario"
DAY = parts.DAY
# Seconds of a history at least.
MIN_WINDOW = 1800.0
FORMATS = ("openb", "csv", "records")


def _check_spec(raw: Json) -> None:
    # The pod's own parser checks the fields; the container only makes it a valid pod.
    Pod.from_json({"metadata": {"name": "a"}, "spec": {**raw, "containers": [{"name": "main"}]}})


def _check_object(raw: Json) -> None:
    if not isinstance(raw.get("kind"), str) or not raw["kind"]:
        raise ObjectError("kind: is missing")
    if raw["kind"] != "List" and not get_mapping(raw, "metadata").get("name"):
        raise ObjectError("metadata.name: is missing")


COLUMN = ByType(
    Text(1, 200),
    Struct(
        "Column",
        "",
        (
            StructField("column", Text(1, 200), "The column's name in the first line.", REQUIRED),
            StructField("factor", Number(0, 1e15, above=True), "What its numbers are multiplied by.", 1.0),
        ),
        make=parts.Column,
    ),
    parts.Column,
)
COLUMNS = Struct(
    "Columns",
    "",
    (
        StructField("time", COLUMN, "When the pod comes: seconds, or a time with its date.", REQUIRED),
        StructField("cpu", COLUMN, "CPU requested: cores, or a quantity."),
        StructField("memory", COLUMN, "Memory requested: bytes, or a quantity."),
        StructField("name", COLUMN, "The pod's name."),
        StructField("namespace", COLUMN, "The pod's namespace."),
        StructField("duration", COLUMN, "Seconds that the pod runs."),
        StructField("end", COLUMN, "When the pod leaves, counted as its time is."),
        StructField("priorityClass", COLUMN, "The pod's priority class."),
        StructField("resources", MapType(COLUMN), "Columns of further resources.", {}),
        StructField("labels", MapType(COLUMN), "Columns of labels.", {}),
    ),
    make=parts.TraceColumns,
)
TRACE = Struct(
    "Trace",
    "Pods as they were recorded.",
    (
        StructField("file", FILE, "The file.", REQUIRED),
        StructField("format", EnumChoice(FORMATS), "The form of the file.", REQUIRED),
        StructField("columns", COLUMNS, "Which column of a CSV file says what."),
        StructField("speed", Number(0, 1e9, above=True), "What times are divided by.", 1.0),
        StructField("leave", Flag(), "Whether pods leave as recorded, or stay.", True),
        StructField("limit", Number(1, whole=True), "How many pods are taken at most."),
        StructField("namespace", NAME, "Namespace of pods that name none.", "default"),
    ),
    make=parts.Trace,
)
LIFE = ByType(
    Duration(above=True),
    Struct(
        "Life",
        "",
        (
            StructField("mean", Duration(above=True), "The mean of an exponential distribution."),
            StructField(
                "least", Duration(above=True), "The shortest, evenly on a logarithmic scale.", argument="shortest"
            ),
            StructField("most", Duration(above=True), "The longest.", argument="longest"),
        ),
        make=parts.LifetimeDistribution,
        one_of=(("mean", "least"),),
    ),
)
POD_SHAPE = Struct(
    "PodShape",
    "",
    (
        StructField("cpu", Quantity(), "CPU requested."),
        StructField("memory", Quantity(), "Memory requested."),
        StructField("name", NAME, "What the pods' deployment is called."),
        StructField("weight", Number(0, 1e9), "How often it comes, against the others.", 1.0),
        StructField("life", LIFE, "How long such a pod runs; for ever where it is left out."),
        StructField("labels", LABEL_VALUES, "Labels of the pods.", {}),
        StructField("resources", MapType(Quantity()), "Further resources requested.", {}),
        StructField("spec", Object(_check_spec), "Further fields of the pod's spec, such as tolerations.", {}),
    ),
    make=parts.PodShape,
)
GENERATE = Struct(
    "Generate",
    "Pods that come at random.",
    (
        StructField(
            "perHour", Number(0, 1e7, above=True), "Pods an hour, at the peak where there are tides.", REQUIRED
        ),
        StructField("tide", workloads.TIDE, "How the rate swings over a day; left out: it does not."),
        StructField("shapes", ListType(POD_SHAPE, 1, MOST_SHAPES), "The kinds of pods.", REQUIRED),
        StructField("namespace", NAME, "The pods' namespace.", "default"),
        StructField("at", Duration(), "When the first can come.", 0.0),
        StructField("until", Duration(above=True), "When no more come.", DAY, argument="end"),
    ),
    make=parts.Generate,
)


def _choose_arrival(trace: parts.Trace | None, generate: parts.Generate | None) -> parts.Trace | parts.Generate:
    arrival = trace or generate
    assert arrival is not None
    return arrival


def _create_document(api_version: str, kind: str, **values: Any) -> parts.ScenarioDocument:
    # Parts keep their paths, with which later steps report problems.
    changes = tuple(
        replace(change, path=f"changes[{place}].{change.path}") for place, change in enumerate(values.pop("changes"))
    )
    arrivals = tuple(
        replace(arrival, path=f"arrivals[{place}].{'trace' if isinstance(arrival, parts.Trace) else 'generate'}")
        for place, arrival in enumerate(values.pop("arrivals"))
    )
    return parts.ScenarioDocument(changes=changes, arrivals=arrivals, **values)


def _create_base(snapshot: str | None, empty: bool | None) -> parts.ScenarioBase:
    if empty is False:
        raise ValueError("empty can only be true: name a snapshot, or leave base out")
    return parts.ScenarioBase(snapshot)


def _enabled_plugins(enable: tuple[str, ...], disable: tuple[str, ...]) -> frozenset[str]:
    if both := sorted(set(enable) & set(disable)):
        raise ValueError(f"{', '.join(both)}: is enabled and disabled; leave it out of one of them")
    return (DEFAULT | set(enable)) - set(disable)


PLUGINS = ListType(EnumChoice((*ON_BY_DEFAULT, *OFF_BY_DEFAULT)))
ADMISSION = Struct(
    "Admission",
    "",
    (
        StructField("enable", PLUGINS, f"Plugins that are on too: of {', '.join(OFF_BY_DEFAULT)}.", ()),
        StructField("disable", PLUGINS, f"Plugins that are off: of {', '.join(ON_BY_DEFAULT)}.", ()),
    ),
    make=_enabled_plugins,
)
DOCUMENT = Struct(
    "Scenario",
    "A cluster, and what happens to it.",
    (
        StructField("apiVersion", EnumChoice((VERSION,)), "The form of this document.", VERSION),
        StructField("kind", EnumChoice((KIND,)), "The kind of this document.", KIND),
        StructField("name", Text(1, 200), "What the scenario is called.", REQUIRED),
        StructField("description", Text(), "What it is for, as plain text.", ""),
        StructField(
            "base",
            Struct(
                "Base",
                "",
                (
                    StructField("snapshot", Text(1, 64), "Id of a snapshot."),
                    StructField("empty", Flag(), "Begin with nothing."),
                ),
                make=_create_base,
                one_of=(("snapshot", "empty"),),
            ),
            "What the scenario begins with.",
            parts.ScenarioBase(),
        ),
        StructField(
            "objects",
            ListType(Object(_check_object), max_items=MOST_OBJECTS),
            "Kubernetes objects added to the base.",
            (),
        ),
        StructField("changes", ListType(CHANGE, max_items=MOST_CHANGES), "What is changed, in this order.", ()),
        StructField(
            "arrivals",
            ListType(
                Struct(
                    "Arrival",
                    "",
                    (StructField("trace", TRACE), StructField("generate", GENERATE)),
                    make=_choose_arrival,
                    one_of=(("trace", "generate"),),
                ),
                max_items=100,
            ),
            "Pods that come over time.",
            (),
        ),
        StructField(
            "use",
            Struct(
                "UseOf",
                "",
                (
                    StructField(
                        "from",
                        EnumChoice((parts.NONE, parts.WATERMARKS, parts.HISTORY, parts.TRACE)),
                        "none: nothing is measured; watermarks: what was measured when the snapshot was taken, moved "
                        "with the pods; history: the same, as it went up and down before the snapshot; trace: recorded "
                        "machines that workloads follow.",
                        REQUIRED,
                        argument="source",
                    ),
                    StructField(
                        "window",
                        Duration(MIN_WINDOW),
                        "How long before the snapshot the history begins that the run goes through. Default: 24h.",
                    ),
                    StructField(
                        "file", FILE, "The trace: a line a machine, its name and a percentage each five minutes."
                    ),
                ),
                make=parts.UsageSource,
            ),
            "What pods and nodes really use.",
            parts.UsageSource(),
        ),
        StructField(
            "run",
            Struct(
                "RunOf",
                "",
                (
                    StructField(
                        "until",
                        Either("quiet", Duration(above=True)),
                        "When it ends; quiet: when nothing is left to do.",
                        argument="end",
                    ),
                    StructField(
                        "place",
                        EnumChoice((parts.ALL, parts.PENDING, parts.ARRIVALS)),
                        "all: pods of the base are placed anew, in the order of their creation; pending: those that "
                        "have a node keep it; arrivals: those that wait are left out too.",
                        parts.ALL,
                    ),
                    StructField("cycle", Duration(), "What a try to schedule takes.", 0.001),
                    StructField("sample", Duration(above=True), "How often is measured how things stand.", 60.0),
                    StructField(
                        "controllers",
                        Flag(),
                        "Whether nodes in trouble are tainted, pods evicted, and HorizontalPodAutoscalers followed.",
                        True,
                    ),
                    StructField("admission", ADMISSION, "Which admission plugins of the API server are on.", DEFAULT),
                ),
                make=parts.RunSettings,
            ),
            "How the scenario is run.",
            parts.RunSettings(),
        ),
        StructField("autoscaler", AUTOSCALER, "Who lets nodes come and go; nobody where it is left out."),
        StructField("descheduler", DESCHEDULER, "Who evicts pods every so often; nobody where it is left out."),
        StructField(
            "prices", price_table.PART, "What nodes cost: a PriceTable, so that the cost of a run is measured."
        ),
    ),
    make=_create_document,
)
