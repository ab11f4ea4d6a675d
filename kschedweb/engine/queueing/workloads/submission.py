"""Workloads that Kueue would create for jobs that nobody has submitted yet, and what would refuse the jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
)
from kschedweb.engine.objects.kinds import KUEUE
from kschedweb.engine.queueing.gates import DEFAULT_GATES
from kschedweb.engine.queueing.quota.objects import get_name, get_namespace
from kschedweb.engine.queueing.workloads.labels import (
    API_VERSION,
    GROUP_COUNT_ANNOTATION,
    GROUP_LABEL,
    MAX_TIME_LABEL,
    MIN_PARALLELISM_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
)
from kschedweb.engine.queueing.workloads.topology_annotations import read_topology_request
from kschedweb.engine.queueing.workloads.webhooks import find_object_refusals
from kschedweb.engine.queueing.workloads.workload import POD_PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS
from kschedweb.engine.refusals import find_refusals
from kschedweb.engine.validation.fields import Problem, aggregate_texts, invalid, required, unsupported
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.validation.labels import subdomain_complaints
from kschedweb.engine.values import dataclass

# The LocalQueue of jobs that name none (LocalQueueDefaulting).
_DEFAULT_QUEUE = "default"
_IS_NUMBER = re.compile(r"[+-]?[0-9]+")
_QUEUE_PATH = f"metadata.labels[{QUEUE_LABEL}]"
_MAX_POD_SETS = 18


class SubmissionError(ValueError):
    """A job that the API server or a webhook of Kueue refuses, in their words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(dict.fromkeys(texts))
        super().__init__(aggregate_texts(self.texts))


@dataclass(frozen=True)
class Submission:
    """A Workload that is not there yet."""

    workload: Json
    # The Workload of the same job that is there already, as "namespace/name"; "" for none.
    replaced: str

    @property
    def key(self) -> str:
        return f"{get_namespace(self.workload)}/{get_name(self.workload)}"


def read_submission(manifest: Json, objects: Iterable[Json], *, queue: str = "", namespace: str = "") -> Submission:
    """Return the Workload that Kueue would create for ``manifest`` beside ``objects``. Raises SubmissionError.

    ``queue`` is a LocalQueue instead of the manifest's, and ``namespace`` that of a manifest that names none.
    """
    listed = list(objects)
    try:
        return _Reader(listed, queue, namespace).read(manifest)
    except ObjectError as error:
        raise SubmissionError([str(error)]) from None


class _Reader:
    """Reads one manifest."""

    def __init__(self, objects: list[Json], queue: str, namespace: str) -> None:
        self._objects = objects
        self._queue = queue
        self._namespace = namespace

    def read(self, manifest: Json) -> Submission:
        kind = get_string(manifest, "kind")
        raw = self._name(manifest)
        if kind == "Workload":
            workload = self._take_workload(raw)
        elif kind in _POD_SETS:
            workload = self._create_workload(raw, kind)
        else:
            raise SubmissionError([unsupported("kind", kind, KINDS).text])
        spec = workload["spec"]
        _refuse(_find_pod_set_problems(spec.get("podSets")))
        refusals = find_object_refusals(workload, DEFAULT_GATES)
        if refusals:
            raise SubmissionError(refusals)
        if not spec.get("queueName"):
            path = "spec.queueName" if kind == "Workload" else _QUEUE_PATH
            raise SubmissionError([required(path, "names the LocalQueue").text])
        return Submission(workload, self._find_replaced(workload, kind, get_name(raw)))

    def _name(self, manifest: Json) -> Json:
        """Return the manifest with a name and a namespace; a generated name has an end of its own."""
        metadata = dict(get_mapping(manifest, "metadata"))
        metadata["namespace"] = get_string(metadata, "namespace", "metadata.") or self._namespace or "default"
        prefix = get_string(metadata, "generateName", "metadata.")
        if prefix and not metadata.get("name"):
            metadata["name"] = f"{prefix}new"
        namespaces = {get_name(raw) for raw in self._objects if raw.get("kind") == "Namespace"}
        if namespaces and metadata["namespace"] not in namespaces:
            raise SubmissionError([f"namespaces {quote(metadata['namespace'])} not found"])
        return {**manifest, "metadata": metadata}

    def _take_workload(self, raw: Json) -> Json:
        """Return a Workload as it is when it is created: without status and identity."""
        if not str(raw.get("apiVersion", "")).startswith(f"{KUEUE}/"):
            supported = (f"{KUEUE}/v1beta1", API_VERSION)
            raise SubmissionError([unsupported("apiVersion", str(raw.get("apiVersion", "")), supported).text])
        if not get_name(raw):
            raise SubmissionError([required("metadata.name", "name or generateName is required").text])
        names = ("name", "namespace", "labels", "annotations")
        metadata = {name: raw["metadata"][name] for name in names if name in raw["metadata"]}
        spec = dict(get_mapping(raw, "spec"))
        if self._queue:
            spec["queueName"] = self._queue
        return {"apiVersion": raw["apiVersion"], "kind": "Workload", "metadata": metadata, "spec": spec}

    def _create_workload(self, raw: Json, kind: str) -> Json:
        if kind == "CronJob":
            raw = _take_job(raw)
        metadata = raw["metadata"]
        labels = dict(get_string_map(metadata, "labels", "metadata."))
        annotations = get_string_map(metadata, "annotations", "metadata.")
        if self._queue:
            labels[QUEUE_LABEL] = self._queue
        elif QUEUE_LABEL not in labels and self._has_queue(metadata["namespace"], _DEFAULT_QUEUE):
            labels[QUEUE_LABEL] = _DEFAULT_QUEUE
        labelled = {**raw, "metadata": {**metadata, "labels": labels}}
        refusals = [refusal.problem.text for refusal in find_refusals(labelled)]
        if refusals:
            raise SubmissionError(refusals)
        _refuse(_find_job_problems(raw["kind"], labels, annotations))
        pod_sets = _POD_SETS[kind](raw)
        if raw["kind"] == "Job" and MIN_PARALLELISM_ANNOTATION in annotations:
            _refuse(_find_minimum_problems(annotations[MIN_PARALLELISM_ANNOTATION], pod_sets[0]["count"]))
            pod_sets[0]["minCount"] = int(annotations[MIN_PARALLELISM_ANNOTATION])
        spec: Json = {
            "queueName": labels.get(QUEUE_LABEL, ""),
            "active": True,
            "podSets": pod_sets,
            **self._find_priority(labels.get(PRIORITY_CLASS_LABEL, ""), pod_sets),
        }
        if MAX_TIME_LABEL in labels:
            spec["maximumExecutionTimeSeconds"] = int(labels[MAX_TIME_LABEL])
        names = {"name": _name_workload(raw, labels), "namespace": metadata["namespace"]}
        return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": names, "spec": spec}

    def _has_queue(self, namespace: str, name: str) -> bool:
        return any(
            raw.get("kind") == "LocalQueue" and (get_namespace(raw), get_name(raw)) == (namespace, name)
            for raw in self._objects
        )

    def _find_priority(self, workload_class: str, pod_sets: list[Json]) -> Json:
        """Return the priority, and the class that it is from (`ExtractPriority`)."""
        pod_classes = (get_string(pod_set["template"]["spec"], "priorityClassName") for pod_set in pod_sets)
        (group, kind), name = WORKLOAD_PRIORITY_CLASS, workload_class
        if not name:
            (group, kind), name = POD_PRIORITY_CLASS, next(filter(None, pod_classes), "")
        classes = {get_name(raw): raw for raw in self._objects if raw.get("kind") == kind}
        if not name:
            defaults = [raw for raw in classes.values() if raw.get("globalDefault") is True]
            if not defaults:
                return {"priority": 0}
            name = get_name(min(defaults, key=lambda raw: get_integer(raw, "value")))
        if name not in classes:
            plural = f"{kind.lower()}es.{group}"
            raise SubmissionError([f"{plural} {quote(name)} not found"])
        reference = {"group": group, "kind": kind, "name": name}
        return {"priority": get_integer(classes[name], "value"), "priorityClassRef": reference}

    def _find_replaced(self, workload: Json, kind: str, name: str) -> str:
        """Return the key of the Workload that the same job has already."""
        namespace = get_namespace(workload)
        for raw in self._objects:
            if raw.get("kind") != "Workload" or get_namespace(raw) != namespace:
                continue
            owners = get_objects_and_paths(get_mapping(raw, "metadata"), "ownerReferences", "metadata.")
            owned = any((owner.get("kind"), owner.get("name")) == (kind, name) for owner, _ in owners)
            if owned or get_name(raw) == get_name(workload):
                return f"{namespace}/{get_name(raw)}"
        return ""


def _refuse(problems: Iterator[Problem]) -> None:
    texts = [problem.text for problem in problems]
    if texts:
        raise SubmissionError(texts)


def _name_workload(raw: Json, labels: dict[str, str]) -> str:
    if raw["kind"] == "Pod" and labels.get(GROUP_LABEL):
        return labels[GROUP_LABEL]
    return f"{raw['kind'].lower()}-{get_name(raw)}"


def _take_job(raw: Json) -> Json:
    """Return the Job that a CronJob creates."""
    template = get_mapping(get_mapping(raw, "spec"), "jobTemplate", "spec.")
    metadata = get_mapping(template, "metadata", "spec.jobTemplate.")
    identity = {name: raw["metadata"].get(name) for name in ("name", "namespace")}
    spec = get_mapping(template, "spec", "spec.jobTemplate.")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {**metadata, **identity}, "spec": spec}


# Refusals of webhooks


def _find_job_problems(kind: str, labels: dict[str, str], annotations: dict[str, str]) -> Iterator[Problem]:
    """Yield what Kueue's webhooks say of a job's labels (`ValidateJobOnCreate`)."""
    if QUEUE_LABEL in labels and (complaints := subdomain_complaints(labels[QUEUE_LABEL])):
        yield invalid(_QUEUE_PATH, labels[QUEUE_LABEL], ",".join(complaints))
    if MAX_TIME_LABEL in labels:
        path, text = f"metadata.labels[{MAX_TIME_LABEL}]", labels[MAX_TIME_LABEL]
        if not _IS_NUMBER.fullmatch(text):
            yield invalid(path, text, _complain_of_number(text))
        elif int(text) <= 0:
            yield invalid(path, int(text), "should be greater than 0")
    if kind == "Pod":
        yield from _find_group_problems(labels, annotations)


def _find_group_problems(labels: dict[str, str], annotations: dict[str, str]) -> Iterator[Problem]:
    """Yield what is wrong with a pod's group (`validatePodGroupMetadata`)."""
    path = f"metadata.annotations[{GROUP_COUNT_ANNOTATION}]"
    detail = f"both the '{GROUP_COUNT_ANNOTATION}' annotation and the '{GROUP_LABEL}' label should be set"
    count = annotations.get(GROUP_COUNT_ANNOTATION)
    if not labels.get(GROUP_LABEL):
        if count is not None:
            yield required(f"metadata.labels[{GROUP_LABEL}]", detail)
    elif count is None:
        yield required(path, detail)
    elif not _IS_NUMBER.fullmatch(count):
        yield invalid(path, count, _complain_of_number(count))
    elif int(count) < 1:
        detail = "group total count should be greater than zero"
        yield invalid(path, count, f"incorrect annotation value '{GROUP_COUNT_ANNOTATION}={count}': {detail}")


def _find_minimum_problems(text: str, count: int) -> Iterator[Problem]:
    """Yield what is wrong with the least parallelism of a Job (`validatePartialAdmissionCreate`)."""
    path = f"metadata.annotations[{MIN_PARALLELISM_ANNOTATION}]"
    if not _IS_NUMBER.fullmatch(text):
        yield invalid(path, text, _complain_of_number(text))
    elif not 0 < int(text) < count:
        yield invalid(path, int(text), f"should be between 0 and {count - 1}")


def _complain_of_number(text: str) -> str:
    return f"strconv.Atoi: parsing {quote(text)}: invalid syntax"


def _find_pod_set_problems(pod_sets: object) -> Iterator[Problem]:
    """Yield what the schema of Workloads says of their pod sets."""
    count = len(pod_sets) if isinstance(pod_sets, list) else 0
    if not count:
        yield required("spec.podSets")
    elif count > _MAX_POD_SETS:
        yield Problem("spec.podSets", f"spec.podSets: Too many: {count}: must have at most {_MAX_POD_SETS} items")
    for place, pod_set in enumerate(pod_sets if isinstance(pod_sets, list) else ()):
        path = f"spec.podSets[{place}]"
        pods = get_mapping(pod_set, "template", f"{path}.") if isinstance(pod_set, dict) else {}
        if isinstance(pod_set, dict) and get_integer(pod_set, "count", 1, f"{path}.") < 0:
            detail = f"{path}.count in body should be greater than or equal to 0"
            yield invalid(f"{path}.count", pod_set["count"], detail)
        if not get_mapping(pods, "spec", f"{path}.template.").get("containers"):
            yield required(f"{path}.template.spec.containers")


# Pod sets


def _build_pod_set(template: Json, count: int, name: str = "main") -> Json:
    metadata = get_mapping(template, "metadata", "template.")
    spec = {key: value for key, value in get_mapping(template, "spec", "template.").items() if key != "nodeName"}
    pod_set: Json = {"name": name, "count": count, "template": {"metadata": metadata, "spec": spec}}
    if request := read_topology_request(template):
        pod_set["topologyRequest"] = request
    return pod_set


def _count_job_pods(spec: Json, path: str) -> int:
    """Return how many pods of a Job run at once."""
    parallelism = get_integer(spec, "parallelism", 1, path)
    return min(parallelism, get_integer(spec, "completions", parallelism, path))


def _list_job_pod_sets(raw: Json) -> list[Json]:
    spec = get_mapping(raw, "spec")
    return [_build_pod_set(get_mapping(spec, "template", "spec."), _count_job_pods(spec, "spec."))]


def _list_job_set_pod_sets(raw: Json) -> list[Json]:
    pod_sets = []
    for job, path in get_objects_and_paths(get_mapping(raw, "spec"), "replicatedJobs", "spec."):
        spec = get_mapping(get_mapping(job, "template", path), "spec", f"{path}template.")
        count = get_integer(job, "replicas", 1, path) * _count_job_pods(spec, f"{path}template.spec.")
        template = get_mapping(spec, "template", f"{path}template.spec.")
        pod_sets.append(_build_pod_set(template, count, get_string(job, "name", path)))
    return pod_sets


def _list_pod_pod_sets(raw: Json) -> list[Json]:
    annotations = get_string_map(raw["metadata"], "annotations", "metadata.")
    return [_build_pod_set(raw, int(annotations.get(GROUP_COUNT_ANNOTATION, "1")))]


def _list_stateful_pod_sets(raw: Json) -> list[Json]:
    spec = get_mapping(raw, "spec")
    return [_build_pod_set(get_mapping(spec, "template", "spec."), get_integer(spec, "replicas", 1, "spec."))]


_POD_SETS: dict[str, Callable[[Json], list[Json]]] = {
    "CronJob": _list_job_pod_sets,
    "Job": _list_job_pod_sets,
    "JobSet": _list_job_set_pod_sets,
    "Pod": _list_pod_pod_sets,
    "StatefulSet": _list_stateful_pod_sets,
}
# Kinds of manifests that can be read.
KINDS = (*_POD_SETS, "Workload")
