"""Number of pods of a workload that fit, the obstacle for the next one, and its remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.studies.capacity.capacity import CapacityFit, fit_clones
from kschedweb.engine.studies.capacity.shapes import PodShape, ShapeError, pod_shape, with_own_volumes
from kschedweb.engine.studies.fixes.answers import PodAnswer, answer_pod
from kschedweb.engine.studies.fixes.owners import TEMPLATE_PATH, PodSource
from kschedweb.engine.values import dataclass

# Kinds of manifests with pods, and the field of how many they want.
REPLICA_FIELDS = {
    "Deployment": "replicas",
    "StatefulSet": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "Job": "parallelism",
}


TEMPLATE_PATHS: dict[str, tuple[str | int, ...]] = {"CronJob": ("spec", "jobTemplate", "spec", "template")}


@dataclass(frozen=True)
class WorkloadFit:
    """Number of pods of one workload that fit."""

    workload: str
    # Pods that it wants, and that fit; `is_exact` is False if more than `fits` may fit.
    replicas: int
    fits: int
    is_exact: bool
    # Nodes that get pods, with their numbers, those with most first.
    by_node: tuple[tuple[str, int], ...]
    # The answer about the first pod that does not fit; None if the search stopped before.
    next_pod: PodAnswer | None
    notes: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        prefix = "" if self.is_exact else "at least "
        if self.fits >= self.replicas:
            pods = "The pod" if self.replicas == 1 else f"All {self.replicas:,} pods"
            verb = "fits" if self.replicas == 1 else "fit"
            return f"{pods} of {self.workload} {verb}; there is room for {prefix}{self.fits:,}"
        return f"{self.fits:,} of {self.replicas:,} pods of {self.workload} {'fits' if self.fits == 1 else 'fit'}"

    def to_dict(self) -> Json:
        return {
            "workload": self.workload,
            "sentence": self.sentence,
            "replicas": self.replicas,
            "fits": self.fits,
            "exact": self.is_exact,
            "by_node": dict(self.by_node),
            "next_pod": None if self.next_pod is None else self.next_pod.to_dict(),
            "notes": list(self.notes),
        }


def read_workload(scheduler: Scheduler, raw: Json) -> tuple[PodShape, int, str] | None:
    """Return (shape of its pods, number replicas, name) of a manifest; None if it has no pods. Raises ShapeError."""
    kind = str(raw.get("kind"))
    metadata = get_mapping(raw, "metadata")
    namespace, name = metadata.get("namespace") or "default", metadata.get("name") or "pod"
    label = f"{kind} {namespace}/{name}"
    try:
        if kind == "Pod":
            return pod_shape(raw, scheduler.snapshot), 1, label
        if kind == "CronJob":
            raw = {"kind": "Job", "spec": get_mapping(get_mapping(get_mapping(raw, "spec"), "jobTemplate"), "spec")}
            kind = "Job"
        if kind not in REPLICA_FIELDS:
            return None
        spec = get_mapping(raw, "spec")
        template = get_mapping(spec, "template")
        pod_spec = with_own_volumes(get_mapping(template, "spec"), raw)
        pod_metadata = {"name": name, "namespace": namespace, "labels": get_mapping(template, "metadata").get("labels")}
        replicas = spec.get(REPLICA_FIELDS[kind])
        shape = pod_shape({"kind": "Pod", "metadata": pod_metadata, "spec": pod_spec}, scheduler.snapshot)
    except (ObjectError, ShapeError) as error:
        raise ShapeError(f"{label}: {error}") from None
    return shape, 1 if replicas is None else int(replicas), label


def fit_workload(
    scheduler: Scheduler,
    shape: PodShape,
    replicas: int,
    workload: str,
    *,
    limit: int,
    check: Callable[[int], bool] | None = None,
) -> WorkloadFit:
    """Place pods of ``shape`` one by one until none fits, at most ``limit``, and explain the first that does not.

    ``check`` gets the number of placed pods; False stops once all that are replicas are placed. Those of them that fit
    stay in the scheduler's snapshot, so that the next workload of a file finds them there.
    """
    configuration = scheduler.configuration
    fit = fit_clones(
        scheduler.snapshot,
        configuration,
        shape,
        limit=max(limit, replicas),
        check=None if check is None else lambda count: count < replicas or check(count),
    )
    filled = scheduler.with_snapshot(scheduler.snapshot.copy())
    _place_clones(filled, shape, fit, fit.count)
    next_pod = None
    if fit.message:
        next_pod = answer_pod(filled, _clone(filled, shape, fit.count + 1), source=_manifest_source(workload))
    _place_clones(scheduler, shape, fit, min(fit.count, replicas))
    return WorkloadFit(
        workload,
        replicas,
        fit.count,
        fit.exact,
        tuple(_count_by_node(fit, min(fit.count, replicas))),
        next_pod,
        fit.notes,
    )


def _count_by_node(fit: CapacityFit, count: int) -> list[tuple[str, int]]:
    """Return the nodes of the first ``count`` pods with their numbers, those with most first."""
    counts = Counter(fit.names[node] for node in fit.order[:count].tolist())
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def _manifest_source(workload: str) -> PodSource:
    """Return the manifest, "Kind namespace/name", as where its pods are written: a file, which kubectl cannot patch."""
    kind, _, key = workload.partition(" ")
    namespace, _, name = key.partition("/")
    return PodSource((kind, namespace, name), () if kind == "Pod" else TEMPLATE_PATHS.get(kind, TEMPLATE_PATH), False)


def _clone(scheduler: Scheduler, shape: PodShape, number: int) -> Pod:
    return scheduler.create_claims(shape.clone(number).with_counting(scheduler.snapshot.counting))[0]


def _place_clones(scheduler: Scheduler, shape: PodShape, fit: CapacityFit, count: int) -> None:
    for number, node in enumerate(fit.order[:count].tolist(), 1):
        scheduler.bind_pod(_clone(scheduler, shape, number), fit.names[node])
