"""The keys of changes of workloads, with their types and help texts."""

from __future__ import annotations

from kschedweb.engine.controllers.autoscaling.spec import read_behavior
from kschedweb.engine.documents.leaves import Duration, Number, Object, Quantity, Text
from kschedweb.engine.documents.types import REQUIRED, Field, ListOf, MapOf, Struct
from kschedweb.engine.objects.access import Json, ObjectError, mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.limits import MOST_REPLICAS, MOST_STEPS

CONTROLLERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
SCALED = ("Deployment", "StatefulSet")
REPLICAS = Number(0, MOST_REPLICAS, whole=True)
COUNT = Number(1, MOST_REPLICAS, whole=True)


def _of_kind(kinds: tuple[str, ...], last: str) -> Text:
    named = f"namespace/Kind/name, Kind one of {last.join((', '.join(kinds[:-1]), kinds[-1]))}"
    return Text(1, 400, rf"[^/\s]+/({'|'.join(kinds)})/[^/\s]+", named)


WORKLOAD, SCALABLE = _of_kind(CONTROLLERS, ", "), _of_kind(SCALED, " or ")


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


def _behavior(raw: Json) -> None:
    read_behavior(raw)


TIDE = Struct(
    "Tide",
    "",
    (
        Field("low", Number(0, 1), "The least rate of a day, as a share of the highest.", 0.3),
        Field("peak", Duration(), "The hour of the highest rate; the scenario begins at midnight.", 14 * 3600.0),
    ),
    make=parts.Tide,
)
LOAD = Struct(
    "LoadOf",
    "What all pods of the workload together would use.",
    (
        Field("cores", Quantity(), "Cores, at the peak where there are tides."),
        Field("tide", TIDE, "How the load swings over a day; left out: it does not."),
        Field(
            "steps",
            ListOf(
                Struct(
                    "LoadStep",
                    "",
                    (
                        Field("at", Duration(), "From when on.", REQUIRED),
                        Field("cores", Quantity(), "Cores from then on.", REQUIRED),
                    ),
                    make=parts.LoadStep,
                ),
                1,
                MOST_STEPS,
            ),
            "Cores from one time after the other on.",
        ),
    ),
    make=parts.LoadOf,
    one_of=(("cores", "steps"),),
)
SHARED = (
    Field("startup", Duration(), "How long a new pod runs before it is ready and takes load.", 0.0),
    Field("load", LOAD, "What all its pods together would use. Left out: what the pods of that time would use."),
)
AUTOSCALE = Struct(
    "AutoscaleWorkload",
    "A workload has as many pods as a HorizontalPodAutoscaler finds right for what they use.",
    (
        Field("workload", SCALABLE, "namespace/Kind/name.", REQUIRED),
        Field("max", COUNT, "The most pods.", REQUIRED, argument="most"),
        Field("min", COUNT, "The least pods.", 1, argument="least"),
        Field(
            "targetCpu",
            Number(1, 100_000, whole=True),
            "How much of the CPU that they request the pods should use, in percent.",
            80,
            argument="cpu",
        ),
        Field("behavior", Object(_behavior), "How fast is scaled, as spec.behavior of autoscaling/v2."),
        *SHARED,
    ),
    make=parts.AutoscaleWorkload,
)
CRON = Struct(
    "CronWorkload",
    "A workload has given numbers of pods from given times of the day on.",
    (
        Field("workload", SCALABLE, "namespace/Kind/name.", REQUIRED),
        Field(
            "entries",
            ListOf(
                Struct(
                    "CronEntry",
                    "",
                    (
                        Field("schedule", Text(1, 200), "A cron expression, in UTC: 0 8 * * mon-fri.", REQUIRED),
                        Field("replicas", REPLICAS, "How many pods it has from then on.", REQUIRED),
                    ),
                    make=parts.CronEntry,
                ),
                1,
                MOST_STEPS,
            ),
            "When it has how many pods.",
            REQUIRED,
        ),
        *SHARED,
    ),
    make=parts.CronWorkload,
)
ACTIONS: dict[str, Struct] = {
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
    "setRequests": Struct(
        "SetRequests",
        "The pods of a workload request more or less, from the beginning.",
        (
            Field("workload", WORKLOAD, "namespace/Kind/name.", REQUIRED),
            Field(
                "containers",
                MapOf(MapOf(Quantity(), least=1), least=1),
                "By container, the amount of each resource. Limits keep their ratio to requests.",
                REQUIRED,
            ),
        ),
        make=parts.SetRequests,
    ),
    "autoscaleWorkload": AUTOSCALE,
    "cronWorkload": CRON,
}
