"""What an API server refuses of an object, in its words, where it concerns scheduling.

kube-scheduler never sees such objects, but people write them. Nothing is refused here: whoever takes the object in says
what a cluster would have said. The rules are those of 1.37, for an object that is created.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.objects.access import Json, ObjectError, mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import NEGATIVE
from kschedweb.engine.objects.workloads import check
from kschedweb.engine.refusals.labels import dns_label_problems, label_problems, subdomain_problems
from kschedweb.engine.refusals.others import (
    budget_problems,
    claim_problems,
    node_problems,
    priority_class_problems,
    service_problems,
    storage_class_problems,
    volume_problems,
)
from kschedweb.engine.refusals.part import Part
from kschedweb.engine.refusals.pods import pod_problems
from kschedweb.engine.refusals.resources import unread
from kschedweb.engine.refusals.workloads import controller_problems, job_problems
from kschedweb.engine.validation.fields import Problem, Typed, invalid, required
from kschedweb.engine.validation.golang import quote

Rules = Callable[[Part], Iterator[Problem]]

_KEY = re.compile(r"\[([^\[\]]*[^\[\]\d][^\[\]]*)\]")
_PAIR = re.compile(r"\.\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One sentence of the API server: ``text`` is the whole of it, ``problem`` the part about one field.

    ``path`` is where that stands in the object, such as ``spec.containers[0].resources.requests['nvidia.com/gpu']``.
    """

    path: str
    text: str
    problem: Problem


def _pod(pod: Part) -> Iterator[Problem]:
    metadata = pod["metadata"]
    # In a pod that an API server keeps, the values for its label keys have been written into the selectors.
    return pod_problems(pod["spec"], {} if metadata["uid"].given else metadata["labels"].labels)


RULES: dict[str, tuple[str, Rules]] = {
    "Pod": ("", _pod),
    "Node": ("", node_problems),
    "Service": ("", service_problems),
    "PersistentVolume": ("", volume_problems),
    "PersistentVolumeClaim": ("", claim_problems),
    "StorageClass": ("storage.k8s.io", storage_class_problems),
    "PriorityClass": ("scheduling.k8s.io", priority_class_problems),
    "PodDisruptionBudget": ("policy", budget_problems),
    "Job": ("batch", job_problems),
    **{kind: ("apps", controller_problems) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
}

JOB_NAME = "job-name"  # the label that the API server gives to the pods of a job
UNDOTTED = ("Namespace", "Service", "StatefulSet")  # kinds whose names have no dots
UNNAMED = ("PodDisruptionBudget",)  # those whose names may be anything, and whose labels are looked at in the end


def refusals(raw: Any) -> list[Refusal]:
    """What an API server would say of ``raw``; none of a kind that is not known here."""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        return []
    group, rules = RULES[kind]
    item = Part("", raw)
    if (broken := next(_unread(item), None)) is not None:
        return [broken]
    if _misread(kind, raw):
        return []
    named = f"{kind}.{group}" if group else kind
    name = item["metadata"]["name"].text
    own = list(rules(item))
    common = metadata_problems(item) if kind not in UNNAMED or not own else ()
    problems = {problem.text: problem for problem in (*common, *own)}
    return [
        Refusal(place(kind, one.path), f"{named} {quote(name)} is invalid: {one.text}", one)
        for one in problems.values()
    ]


def place(kind: str, path: str) -> str:
    """Where that stands in the object which the API server names ``path``."""
    if kind == "Node":
        path = path.replace("metadata.taints", "spec.taints")
    path = re.sub(r"^spec\.template\.labels", "spec.template.metadata.labels", path)
    return _KEY.sub(r"['\1']", _PAIR.sub("", path))


def _misread(kind: str, raw: Json) -> bool:
    """Whether something has another type than it must have, which those say who read the object."""
    try:
        if kind == "Node":
            Node.read(raw)
        elif kind == "Pod" or "template" in mapping(raw, "spec"):
            pod = raw if kind == "Pod" else mapping(mapping(raw, "spec"), "template")
            Pod.read({"metadata": {**mapping(pod, "metadata"), "name": "a"}, "spec": pod.get("spec")})
        check(kind, raw)
    except ObjectError as error:
        return NEGATIVE not in str(error)
    return False


def metadata_problems(item: Part) -> Iterator[Problem]:
    """What is wrong with an object's name and labels."""
    metadata = item["metadata"]
    naming = dns_label_problems if item["kind"].text in UNDOTTED else subdomain_problems
    if item["kind"].text not in UNNAMED:
        yield from naming(metadata["name"])
    labels = metadata["labels"]
    of_pods = item["spec"]["template"]["metadata"]["labels"]
    if item["kind"].text == "Job" and of_pods.given and not labels.labels:  # those of its pods are then taken
        labels = Part(labels.path, {**of_pods.labels, JOB_NAME: metadata["name"].text})
    yield from label_problems(labels)


def owner_problems(owners: Part) -> Iterator[Problem]:
    """References to owners."""
    controllers: list[str] = []
    for owner in owners.items:
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner[name].text:
                yield required(owner.to(name), "must not be empty")
        if owner["controller"].value is True:
            controllers.append(f"{owner['kind'].text}/{owner['name'].text}")
    if len(controllers) > 1:
        said = 'Only one reference can have Controller set to true. Found "true" in references for '
        yield invalid(owners.path, Typed(owners.value), f"{said}{controllers[0]} and {controllers[1]}")


def _unread(item: Part) -> Iterator[Refusal]:
    """What is no quantity: an API server looks no further."""
    kind, version = item["kind"].text, item["apiVersion"].text or "v1"
    for listed in _lists(item):
        for problem in unread(listed):
            said = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind}: {problem.text}'
            yield Refusal(place(kind, problem.path), said, problem)


def _lists(item: Part) -> Iterator[Part]:
    """Every list of resources in an object."""
    spec = item["spec"]
    yield spec["capacity"]
    yield item["status"]["capacity"]
    yield item["status"]["allocatable"]
    yield from (spec["resources"][name] for name in ("requests", "limits"))
    for pod in (spec, spec["template"]["spec"]):
        yield pod["overhead"]
        for container in (*pod["containers"].items, *pod["initContainers"].items):
            yield from (container["resources"][name] for name in ("requests", "limits"))
