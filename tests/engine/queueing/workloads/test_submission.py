"""Workloads of jobs that nobody has submitted yet, and what would refuse the jobs."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.submission import SubmissionError, read_submission

OBJECTS: list[Json] = [
    {"kind": "Namespace", "metadata": {"name": "ml"}},
    {"kind": "LocalQueue", "metadata": {"name": "default", "namespace": "ml"}, "spec": {"clusterQueue": "a"}},
    {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 50},
    {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 5, "globalDefault": True},
    {"kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 900},
    {
        "kind": "Workload",
        "metadata": {"name": "job-old-1a2b3", "namespace": "ml", "ownerReferences": [{"kind": "Job", "name": "old"}]},
    },
]
CONTAINERS = [{"name": "main", "image": "a", "resources": {"requests": {"cpu": "2"}}}]
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}
QUEUE = "kueue.x-k8s.io/queue-name"
WORKLOAD = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "ml"},
}


def job(labels: Json | None = None, annotations: Json | None = None, **spec: Any) -> Json:
    metadata = {"name": "train", "namespace": "ml", "labels": {QUEUE: "gpus"} if labels is None else labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "annotations": annotations or {}},
        "spec": {"parallelism": 4, "template": TEMPLATE, **spec},
    }


def refusals(manifest: Json, **options: str) -> tuple[str, ...]:
    with pytest.raises(SubmissionError) as caught:
        read_submission(manifest, OBJECTS, **options)
    return caught.value.texts


def test_a_job_has_as_many_pods_as_run_at_once() -> None:
    submission = read_submission(job(completions=3), OBJECTS)
    assert submission.key == "ml/job-train"
    spec = submission.workload["spec"]
    assert spec["queueName"] == "gpus"
    assert [(pod_set["name"], pod_set["count"]) for pod_set in spec["podSets"]] == [("main", 3)]
    minimum = read_submission(job(annotations={"kueue.x-k8s.io/job-min-parallelism": "2"}), OBJECTS)
    assert minimum.workload["spec"]["podSets"][0]["minCount"] == 2


@pytest.mark.parametrize(
    ("labels", "pod_class", "priority", "reference"),
    [
        ({}, "", 5, "usual"),
        ({}, "high", 50, "high"),
        ({"kueue.x-k8s.io/priority-class": "urgent"}, "high", 900, "urgent"),
    ],
)
def test_a_priority_is_of_its_own_class_or_of_its_pods(
    labels: Json, pod_class: str, priority: int, reference: str
) -> None:
    template = {"spec": {**TEMPLATE["spec"], "priorityClassName": pod_class}}
    manifest = job(labels={QUEUE: "gpus", **labels}, template=template)
    spec = read_submission(manifest, OBJECTS).workload["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (priority, reference)


def test_kinds_have_the_pod_sets_that_kueue_makes() -> None:
    job_spec = {"parallelism": 2, "template": TEMPLATE}
    job_set = {
        "kind": "JobSet",
        "metadata": {"name": "set", "namespace": "ml"},
        "spec": {
            "replicatedJobs": [
                {"name": "driver", "template": {"spec": {"template": TEMPLATE}}},
                {"name": "workers", "replicas": 3, "template": {"spec": job_spec}},
            ]
        },
    }
    group = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "ml",
            "labels": {"kueue.x-k8s.io/pod-group-name": "gang"},
            "annotations": {
                "kueue.x-k8s.io/pod-group-total-count": "6",
                "kueue.x-k8s.io/podset-required-topology": "rack",
            },
        },
        "spec": TEMPLATE["spec"],
    }
    nightly = {
        "kind": "CronJob",
        "metadata": {"name": "nightly", "namespace": "ml"},
        "spec": {"jobTemplate": {"metadata": {"labels": {QUEUE: "slow"}}, "spec": job_spec}},
    }
    pod_sets = {}
    for manifest in (job_set, group, nightly):
        submission = read_submission(manifest, OBJECTS)
        spec = submission.workload["spec"]
        pod_sets[submission.key] = spec["queueName"], [(item["name"], item["count"]) for item in spec["podSets"]]
    assert pod_sets == {
        # Without a label the LocalQueue of the name is taken.
        "ml/jobset-set": ("default", [("driver", 1), ("workers", 6)]),
        "ml/gang": ("default", [("main", 6)]),
        "ml/job-nightly": ("slow", [("main", 2)]),
    }
    assert read_submission(group, OBJECTS).workload["spec"]["podSets"][0]["topologyRequest"] == {"required": "rack"}


def test_a_job_that_is_there_gives_up_its_workload() -> None:
    manifest = job()
    assert read_submission(manifest, OBJECTS).replaced == ""
    manifest["metadata"]["name"] = "old"
    assert read_submission(manifest, OBJECTS).replaced == "ml/job-old-1a2b3"


def test_a_workload_is_new_whatever_its_status_was() -> None:
    raw = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "uid": "7", "namespace": "ml", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "a", "podSets": [{"name": "main", "count": 1, "template": TEMPLATE}]},
        "status": {"conditions": [{"type": "QuotaReserved", "status": "True"}]},
    }
    workload = read_submission(raw, OBJECTS, queue="b").workload
    assert "status" not in workload
    assert workload["metadata"] == {"name": "w", "namespace": "ml"}
    assert workload["spec"]["queueName"] == "b"


def test_refusals_are_those_of_the_webhooks() -> None:
    (text,) = refusals(job(annotations={"kueue.x-k8s.io/job-min-parallelism": "9"}))
    path = "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]"
    assert text == f"{path}: Invalid value: 9: should be between 0 and 3"
    (text,) = refusals(job(labels={QUEUE: "GPUs"}))
    assert text.startswith(f'metadata.labels[{QUEUE}]: Invalid value: "GPUs": a lowercase RFC 1123 subdomain')
    (text,) = refusals(job(labels={QUEUE: "a", "kueue.x-k8s.io/max-exec-time-seconds": "soon"}))
    assert text.endswith('Invalid value: "soon": strconv.Atoi: parsing "soon": invalid syntax')
    negative = [{"name": "main", "resources": {"requests": {"pods": "1"}}}]
    pod_set = {"name": "main", "template": {"spec": {"containers": negative}}}
    (text,) = refusals({**WORKLOAD, "spec": {"queueName": "a", "podSets": [pod_set]}})
    assert text.endswith('Invalid value: "pods": the key is reserved for internal kueue use')


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        (
            job(labels={QUEUE: "a", "kueue.x-k8s.io/priority-class": "no"}),
            'workloadpriorityclasses.kueue.x-k8s.io "no" not found',
        ),
        ({"kind": "Job", "metadata": {"name": "a", "namespace": "no"}}, 'namespaces "no" not found'),
        ({**WORKLOAD, "spec": {}}, "spec.podSets: Required value"),
        (job(parallelism="two"), "spec.parallelism: must be a whole number, is a string"),
    ],
)
def test_what_cannot_be_created_is_refused(manifest: Json, text: str) -> None:
    assert refusals(manifest) == (text,)


def test_a_kind_that_never_queues_is_refused() -> None:
    (text,) = refusals({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "ml"}})
    assert text.startswith('kind: Unsupported value: "Service": supported values: "CronJob", "Job"')
