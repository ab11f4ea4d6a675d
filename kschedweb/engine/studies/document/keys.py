"""The keys of a scenario document, with their types and help texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kschedweb.engine.controllers.admission import DEFAULT, OFF_BY_DEFAULT, ON_BY_DEFAULT
from kschedweb.engine.documents.leaves import (
    Choice,
    Duration,
    Flag,
    Number,
    Object,
    Quantity,
    Text,
)
from kschedweb.engine.documents.types import REQUIRED, ByType, Either, Field, ListOf, MapOf, Struct
from kschedweb.engine.objects.access import Json, ObjectError, mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.pricing import table
from kschedweb.engine.studies.document import parts, workloads
from kschedweb.engine.studies.document.actions import CHANGE, FILE, LABEL_VALUES, NAME
from kschedweb.engine.studies.document.autoscalers import AUTOSCALER
from kschedweb.engine.studies.document.deschedulers import DESCHEDULER
from kschedweb.engine.studies.document.limits import MOST_CHANGES, MOST_OBJECTS, MOST_SHAPES

VERSION, KIND = "kschedweb/v1", "Scenario"
DAY = parts.DAY
LEAST_WINDOW = 1800.0  # seconds
FORMATS = ("openb", "csv", "records")


def _spec(raw: Json) -> None:
    Pod.read({"metadata": {"name": "a"}, "spec": {**raw, "containers": [{"name": "main"}]}})


def _object(raw: Json) -> None:
    if not isinstance(raw.get("kind"), str) or not raw["kind"]:
        raise ObjectError("kind: is missing")
    if raw["kind"] != "List" and not mapping(raw, "metadata").get("name"):
        raise ObjectError("metadata.name: is missing")


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
GENERATE = Struct(
    "Generate",
    "Pods that come at random.",
    (
        Field("perHour", Number(0, 1e7, above=True), "Pods an hour, at the peak where there are tides.", REQUIRED),
        Field("tide", workloads.TIDE, "How the rate swings over a day; left out: it does not."),
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


def _admission(enable: tuple[str, ...], disable: tuple[str, ...]) -> frozenset[str]:
    if both := sorted(set(enable) & set(disable)):
        raise ValueError(f"{', '.join(both)}: is enabled and disabled; leave it out of one of them")
    return (DEFAULT | set(enable)) - set(disable)


PLUGINS = ListOf(Choice((*ON_BY_DEFAULT, *OFF_BY_DEFAULT)))
ADMISSION = Struct(
    "Admission",
    "",
    (
        Field("enable", PLUGINS, f"Plugins that are on too: of {', '.join(OFF_BY_DEFAULT)}.", ()),
        Field("disable", PLUGINS, f"Plugins that are off: of {', '.join(ON_BY_DEFAULT)}.", ()),
    ),
    make=_admission,
)
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
                        "How long before the snapshot the history begins that the run goes through. Default: 24h.",
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
                    Field(
                        "controllers",
                        Flag(),
                        "Whether nodes in trouble are tainted, pods evicted, and HorizontalPodAutoscalers followed.",
                        True,
                    ),
                    Field("admission", ADMISSION, "Which admission plugins of the API server are on.", DEFAULT),
                ),
                make=parts.RunOf,
            ),
            "How the scenario is run.",
            parts.RunOf(),
        ),
        Field("autoscaler", AUTOSCALER, "Who lets nodes come and go; nobody where it is left out."),
        Field("descheduler", DESCHEDULER, "Who evicts pods every so often; nobody where it is left out."),
        Field("prices", table.PART, "What nodes cost: a PriceTable, so that the cost of a run is measured."),
    ),
    make=_document,
)
