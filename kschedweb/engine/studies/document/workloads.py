"""The keys of changes of workloads, with their types and help texts."""

from __future__ import annotations

from kschedweb.engine.controllers.autoscaling.spec import read_behavior
from kschedweb.engine.documents.leaves import Duration, Number, Object, Quantity, Text
from kschedweb.engine.documents.types import REQUIRED, ListType, MapType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.limits import MOST_REPLICAS, MOST_STEPS

# Kinds of workloads, and those that a HorizontalPodAutoscaler may scale here.
CONTROLLERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
SCALED = ("Deployment", "StatefulSet")
REPLICAS = Number(0, MOST_REPLICAS, whole=True)
COUNT = Number(1, MOST_REPLICAS, whole=True)


def _of_kind(kinds: tuple[str, ...], last: str) -> Text:
    description = f"namespace/Kind/name, Kind one of {last.join((', '.join(kinds[:-1]), kinds[-1]))}"
    return Text(1, 400, rf"[^/\s]+/({'|'.join(kinds)})/[^/\s]+", description)


WORKLOAD, SCALABLE = _of_kind(CONTROLLERS, ", "), _of_kind(SCALED, " or ")


def _check_manifest(raw: Json) -> None:
    """Check that pods can be made from a workload."""
    metadata = get_mapping(raw, "metadata")
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        raise ObjectError("metadata.name: is missing")
    if raw.get("kind") == "Pod":
        Pod.from_json(raw)
        return
    template = get_mapping(get_mapping(raw, "spec"), "template", "spec.")
    if not get_mapping(template, "spec", "spec.template.").get("containers"):
        raise ObjectError("spec.template.spec.containers: is missing")
    try:
        inner = {**get_mapping(template, "metadata", "spec.template."), "name": "a"}
        Pod.from_json({"metadata": inner, "spec": template["spec"]})
    except ObjectError as error:
        raise ObjectError(f"spec.template.{error}") from None


def _check_behavior(raw: Json) -> None:
    read_behavior(raw)


TIDE = Struct(
    "Tide",
    "",
    (
        StructField("low", Number(0, 1), "The least rate of a day, as a share of the highest.", 0.3),
        StructField("peak", Duration(), "The hour of the highest rate; the scenario begins at midnight.", 14 * 3600.0),
    ),
    make=parts.Tide,
)
LOAD = Struct(
    "LoadOf",
    "What all pods of the workload together would use.",
    (
        StructField("cores", Quantity(), "Cores, at the peak where there are tides."),
        StructField("tide", TIDE, "Daily swing of the load. Default: none."),
        StructField(
            "steps",
            ListType(
                Struct(
                    "LoadStep",
                    "",
                    (
                        StructField("at", Duration(), "Start time.", REQUIRED),
                        StructField("cores", Quantity(), "Cores from then on.", REQUIRED),
                    ),
                    make=parts.LoadStep,
                ),
                1,
                MOST_STEPS,
            ),
            "Cores over time.",
        ),
    ),
    make=parts.WorkloadLoad,
    one_of=(("cores", "steps"),),
)
SHARED = (
    StructField("startup", Duration(), "How long a new pod runs before it is ready and takes load.", 0.0),
    StructField("load", LOAD, "Use of all its pods together. Default: what its pods of that time would use."),
)
AUTOSCALE = Struct(
    "AutoscaleWorkload",
    "A HorizontalPodAutoscaler scales a workload by its use.",
    (
        StructField("workload", SCALABLE, "namespace/Kind/name.", REQUIRED),
        StructField("max", COUNT, "The most pods.", REQUIRED, argument="max_replicas"),
        StructField("min", COUNT, "The least pods.", 1, argument="min_replicas"),
        StructField(
            "targetCpu",
            Number(1, 100_000, whole=True),
            "Target CPU use of the pods, in percent of requests.",
            80,
            argument="cpu",
        ),
        StructField("behavior", Object(_check_behavior), "How fast to scale, as spec.behavior of autoscaling/v2."),
        *SHARED,
    ),
    make=parts.AutoscaleWorkload,
)
CRON = Struct(
    "CronWorkload",
    "Scale a workload at given times of day.",
    (
        StructField("workload", SCALABLE, "namespace/Kind/name.", REQUIRED),
        StructField(
            "entries",
            ListType(
                Struct(
                    "CronEntry",
                    "",
                    (
                        StructField("schedule", Text(1, 200), "A cron expression, in UTC: 0 8 * * mon-fri.", REQUIRED),
                        StructField("replicas", REPLICAS, "Number of pods from then on.", REQUIRED),
                    ),
                    make=parts.CronEntry,
                ),
                1,
                MOST_STEPS,
            ),
            "Times and numbers of pods.",
            REQUIRED,
        ),
        *SHARED,
    ),
    make=parts.CronWorkload,
)
ACTIONS: dict[str, Struct] = {
    "scaleWorkload": Struct(
        "ScaleWorkload",
        "Scale a workload up or down.",
        (
            StructField("workload", WORKLOAD, "namespace/Kind/name.", REQUIRED),
            StructField("replicas", REPLICAS, "Number of pods then.", REQUIRED),
        ),
        make=parts.ScaleWorkload,
    ),
    "addWorkload": Struct(
        "AddWorkload",
        "Add a workload with its pods.",
        (
            StructField("manifest", Object(_check_manifest, (*CONTROLLERS, "Pod")), "The workload.", REQUIRED),
            StructField("replicas", REPLICAS, "Number of pods, instead of the manifest's."),
            StructField("life", Duration(above=True), "How long each pod runs. Default: forever."),
        ),
        make=parts.AddWorkload,
    ),
    "removeWorkload": Struct(
        "RemoveWorkload",
        "Remove a workload with its pods.",
        (StructField("workload", WORKLOAD, "namespace/Kind/name.", REQUIRED),),
        make=parts.RemoveWorkload,
    ),
    "setRequests": Struct(
        "SetRequests",
        "Change the requests of a workload's pods, from the start.",
        (
            StructField("workload", WORKLOAD, "namespace/Kind/name.", REQUIRED),
            StructField(
                "containers",
                MapType(MapType(Quantity(), min_items=1), min_items=1),
                "By container, the amount of each resource. Limits keep their ratio to requests.",
                REQUIRED,
            ),
        ),
        make=parts.SetRequests,
    ),
    "autoscaleWorkload": AUTOSCALE,
    "cronWorkload": CRON,
}
