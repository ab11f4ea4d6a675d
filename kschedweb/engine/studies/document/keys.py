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
from kschedweb.engine.studies.actors import list_modules
from kschedweb.engine.studies.document import parts, workloads
from kschedweb.engine.studies.document.actions import CHANGE, FILE, LABEL_VALUES, NAME
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
            StructField("factor", Number(0, 1e15, above=True), "Factor for its numbers.", 1.0),
        ),
        make=parts.Column,
    ),
    parts.Column,
)
COLUMNS = Struct(
    "Columns",
    "",
    (
        StructField("time", COLUMN, "When the pod arrives: seconds, or a date and time.", REQUIRED),
        StructField("cpu", COLUMN, "CPU requested: cores, or a quantity."),
        StructField("memory", COLUMN, "Memory requested: bytes, or a quantity."),
        StructField("name", COLUMN, "The pod's name."),
        StructField("namespace", COLUMN, "The pod's namespace."),
        StructField("duration", COLUMN, "Seconds that the pod runs."),
        StructField("end", COLUMN, "When the pod leaves, in the same form as its arrival."),
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
        StructField("format", EnumChoice(FORMATS), "Format of the file.", REQUIRED),
        StructField("columns", COLUMNS, "Columns of a CSV file."),
        StructField("speed", Number(0, 1e9, above=True), "Divisor for times.", 1.0),
        StructField("leave", Flag(), "Pods leave as recorded (true) or stay (false).", True),
        StructField("limit", Number(1, whole=True), "Most pods to take."),
        StructField("namespace", NAME, "Namespace of pods without one.", "default"),
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
        StructField("name", NAME, "Name of the pods' Deployment."),
        StructField("weight", Number(0, 1e9), "Frequency, relative to the other kinds.", 1.0),
        StructField("life", LIFE, "How long such a pod runs. Default: forever."),
        StructField("labels", LABEL_VALUES, "Labels of the pods.", {}),
        StructField("resources", MapType(Quantity()), "Further resources requested.", {}),
        StructField("spec", Object(_check_spec), "Further fields of the pod's spec, such as tolerations.", {}),
    ),
    make=parts.PodShape,
)
GENERATE = Struct(
    "Generate",
    "Pods that arrive at random.",
    (
        StructField(
            "perHour", Number(0, 1e7, above=True), "Pods an hour, at the peak where there are tides.", REQUIRED
        ),
        StructField("tide", workloads.TIDE, "Daily swing of the rate. Default: none."),
        StructField("shapes", ListType(POD_SHAPE, 1, MOST_SHAPES), "The kinds of pods.", REQUIRED),
        StructField("namespace", NAME, "The pods' namespace.", "default"),
        StructField("at", Duration(), "Earliest arrival.", 0.0),
        StructField("until", Duration(above=True), "Latest arrival.", DAY, argument="end"),
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
    actors = {name: values.pop(name) for name in (field.name for field in ACTOR_FIELDS)}
    return parts.ScenarioDocument(changes=changes, arrivals=arrivals, actors=actors, **values)


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
ACTOR_FIELDS: tuple[StructField, ...] = tuple(keys.FIELD for keys in list_modules("keys"))
DOCUMENT = Struct(
    "Scenario",
    "A cluster, and what happens to it.",
    (
        StructField("apiVersion", EnumChoice((VERSION,)), "The form of this document.", VERSION),
        StructField("kind", EnumChoice((KIND,)), "The kind of this document.", KIND),
        StructField("name", Text(1, 200), "Name of the scenario.", REQUIRED),
        StructField("description", Text(), "Description, as plain text.", ""),
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
            "Starting state of the scenario.",
            parts.ScenarioBase(),
        ),
        StructField(
            "objects",
            ListType(Object(_check_object), max_items=MOST_OBJECTS),
            "Kubernetes objects added to the base.",
            (),
        ),
        StructField("changes", ListType(CHANGE, max_items=MOST_CHANGES), "Changes, in this order.", ()),
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
            "Pods that arrive over time.",
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
                        "none: no measurements; watermarks: measured when the snapshot was taken, moves with the "
                        "pods; history: the same over time before the snapshot; trace: workloads follow recorded "
                        "machines.",
                        REQUIRED,
                        argument="source",
                    ),
                    StructField(
                        "window",
                        Duration(MIN_WINDOW),
                        "Length of the history before the snapshot to replay. Default: 24h.",
                    ),
                    StructField(
                        "file", FILE, "The trace: one line per machine, its name, then a percentage every five minutes."
                    ),
                ),
                make=parts.UsageSource,
            ),
            "Real use of pods and nodes.",
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
                        "End of the run; quiet: when nothing is left to do.",
                        argument="end",
                    ),
                    StructField(
                        "place",
                        EnumChoice((parts.ALL, parts.PENDING, parts.ARRIVALS)),
                        "all: place every pod again, in order of creation; pending: pods with a node keep it; "
                        "arrivals: waiting pods are left out too.",
                        parts.ALL,
                    ),
                    StructField("cycle", Duration(), "Duration of one scheduling attempt.", 0.001),
                    StructField("sample", Duration(above=True), "Interval between samples.", 60.0),
                    StructField(
                        "controllers",
                        Flag(),
                        "Run the controllers: taint failing nodes, evict pods, follow HorizontalPodAutoscalers.",
                        True,
                    ),
                    StructField("admission", ADMISSION, "Admission plugins of the API server.", DEFAULT),
                ),
                make=parts.RunSettings,
            ),
            "Settings of the run.",
            parts.RunSettings(),
        ),
        *ACTOR_FIELDS,
        StructField(
            "prices", price_table.PART, "What nodes cost: a PriceTable, so that the cost of a run is measured."
        ),
    ),
    make=_create_document,
)
