"""What an API server refuses of an object, in its words, where it concerns scheduling.

kube-scheduler never sees such objects, but people write them. Nothing is refused here: whoever takes the object in says
what a cluster would have said. The rules are those of 1.37, for an object that is created.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator
from typing import Any

from kschedweb.engine.objects.content_cache import ContentCache
from kschedweb.engine.objects.json_access import Json, ObjectError, get_mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import NEGATIVE
from kschedweb.engine.objects.selecting_objects import check_readable
from kschedweb.engine.refusals.cluster_objects import (
    budget_problems,
    claim_problems,
    node_content,
    node_problems,
    priority_class_problems,
    service_problems,
    storage_class_problems,
    volume_problems,
)
from kschedweb.engine.refusals.field_value import FieldValue
from kschedweb.engine.refusals.labels import dns_label_problems, label_problems, subdomain_problems
from kschedweb.engine.refusals.pods import pod_problems, shared_content, shared_problems
from kschedweb.engine.refusals.resources import find_unreadable
from kschedweb.engine.refusals.workloads import controller_problems, job_problems
from kschedweb.engine.validation.fields import Problem, Typed, invalid, required
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

_KEY = re.compile(r"\[([^\[\]]*[^\[\]\d][^\[\]]*)\]")
_PAIR = re.compile(r"\.\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class ApiRefusal:
    """One sentence of the API server: ``text`` is the whole of it, ``problem`` the part about one field.

    ``path`` is where that stands in the object, such as ``spec.containers[0].resources.requests['nvidia.com/gpu']``.
    """

    path: str
    text: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class KindRules:
    """What is looked at in a kind of ``group``: each object's ``own_problems`` problems, and those that it ``shares``.

    ``content`` is what the latter depend on, so that they are looked for once for objects that have the same; it raises
    ValueError for what is no JSON.
    """

    group: str
    own_problems: Callable[[FieldValue], Iterator[Problem]]
    shared_problems: Callable[[FieldValue], Iterator[Problem]] | None = None
    content: Callable[[Json], bytes] | None = None


def _selector_labels(pod: FieldValue) -> dict[str, str]:
    """The labels whose values a pod's selectors get; in one that an API server keeps they have been written there."""
    metadata = pod["metadata"]
    return {} if metadata["uid"].is_given else metadata["labels"].labels


RULES: dict[str, KindRules] = {
    "Pod": KindRules(
        "",
        lambda pod: pod_problems(pod["spec"]),
        lambda pod: shared_problems(pod["spec"], _selector_labels(pod)),
        lambda pod: shared_content(pod.get("spec"), _selector_labels(FieldValue("", pod))),
    ),
    "Node": KindRules("", lambda _: iter(()), node_problems, node_content),
    "Service": KindRules("", service_problems),
    "PersistentVolume": KindRules("", volume_problems),
    "PersistentVolumeClaim": KindRules("", claim_problems),
    "StorageClass": KindRules("storage.k8s.io", storage_class_problems),
    "PriorityClass": KindRules("scheduling.k8s.io", priority_class_problems),
    "PodDisruptionBudget": KindRules("policy", budget_problems),
    "Job": KindRules("batch", job_problems),
    **{
        kind: KindRules("apps", controller_problems)
        for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    },
}

JOB_NAME = "job-name"  # the label that the API server gives to the pods of a job
MOST_KNOWN = 4096
UNDOTTED = ("Namespace", "Service", "StatefulSet")  # kinds whose names have no dots
UNNAMED = ("PodDisruptionBudget",)  # those whose names may be anything, and whose labels are looked at in the end


def find_refusals(raw: Any, *, read: bool = False) -> list[ApiRefusal]:
    """What an API server would say of ``raw``; none of a kind that is not known here.

    ``read``: if it is a Node or a Pod, it was read without an error.
    """
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        return []
    rules, item = RULES[kind], FieldValue("", raw)
    broken, shared = _find_shared(kind, item, rules)
    if broken is not None:
        return [broken]
    if not (read and kind in ("Node", "Pod")) and _is_misread(kind, raw):
        return []
    problems_of_object = [*rules.own_problems(item), *shared]
    common = metadata_problems(item) if kind not in UNNAMED or not problems_of_object else ()
    problems = {problem.text: problem for problem in (*common, *problems_of_object)}
    if not problems:
        return []
    start = f"{kind}.{rules.group}" if rules.group else kind
    prefix = f"{start} {quote(item['metadata']['name'].text)} is invalid: "
    return [
        ApiRefusal(to_object_path(kind, problem.path), prefix + problem.text, problem) for problem in problems.values()
    ]


Shared = tuple[ApiRefusal | None, tuple[Problem, ...]]
_SHARED_CACHE: ContentCache[Shared] = ContentCache(MOST_KNOWN)


def _find_shared(kind: str, item: FieldValue, rules: KindRules) -> Shared:
    """(what cannot be decoded, what is wrong otherwise) of what ``item`` has in common with others."""
    if rules.content is None or rules.shared_problems is None:
        return next(_find_unreadable(item), None), ()
    try:
        content = marshal.dumps((kind, item.value.get("apiVersion")), 2) + rules.content(item.value)
    except ValueError:  # whoever reads it says what is wrong
        return next(_find_unreadable(item), None), ()
    if (cached := _SHARED_CACHE.get(content)) is None:
        broken = next(_find_unreadable(item), None)
        cached = _SHARED_CACHE.store(content, (broken, () if broken else tuple(rules.shared_problems(item))))
    return cached


def to_object_path(kind: str, path: str) -> str:
    """Where that stands in the object which the API server names ``path``."""
    if kind == "Node":
        path = path.replace("metadata.taints", "spec.taints")
    path = re.sub(r"^spec\.template\.labels", "spec.template.metadata.labels", path)
    return _KEY.sub(r"['\1']", _PAIR.sub("", path))


def _is_misread(kind: str, raw: Json) -> bool:
    """Whether something has another type than it must have, which those say who read the object."""
    try:
        if kind == "Node":
            Node.from_json(raw)
        elif kind == "Pod" or "template" in get_mapping(raw, "spec"):
            pod = raw if kind == "Pod" else get_mapping(get_mapping(raw, "spec"), "template")
            Pod.from_json({"metadata": {**get_mapping(pod, "metadata"), "name": "a"}, "spec": pod.get("spec")})
        check_readable(kind, raw)
    except ObjectError as error:
        return NEGATIVE not in str(error)
    return False


def metadata_problems(item: FieldValue) -> Iterator[Problem]:
    """What is wrong with an object's name and labels."""
    kind, metadata = item["kind"].text, item["metadata"]
    if kind not in UNNAMED:
        yield from (dns_label_problems if kind in UNDOTTED else subdomain_problems)(metadata["name"])
    labels = metadata["labels"]
    if kind == "Job" and not labels.labels:  # those of its pods are then taken
        of_pods = item["spec"]["template"]["metadata"]["labels"]
        if of_pods.is_given:
            labels = FieldValue(labels.path, {**of_pods.labels, JOB_NAME: metadata["name"].text})
    yield from label_problems(labels)


def owner_problems(owners: FieldValue) -> Iterator[Problem]:
    """References to owners."""
    controllers: list[str] = []
    for owner in owners.items:
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner[name].text:
                yield required(owner.path_to(name), "must not be empty")
        if owner["controller"].value is True:
            controllers.append(f"{owner['kind'].text}/{owner['name'].text}")
    if len(controllers) > 1:
        message = 'Only one reference can have Controller set to true. Found "true" in references for '
        yield invalid(owners.path, Typed(owners.value), f"{message}{controllers[0]} and {controllers[1]}")


def _find_unreadable(item: FieldValue) -> Iterator[ApiRefusal]:
    """What is no quantity: an API server looks no further."""
    kind, version = item["kind"].text, item["apiVersion"].text or "v1"
    for listed in _resource_lists(item):
        for problem in find_unreadable(listed):
            message = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind}: {problem.text}'
            yield ApiRefusal(to_object_path(kind, problem.path), message, problem)


def _resource_lists(item: FieldValue) -> Iterator[FieldValue]:
    """Every list of resources in an object."""
    kind, spec, status = item["kind"].text, item["spec"], item["status"]
    if kind == "Node":
        yield from (status["capacity"], status["allocatable"])
        return
    if kind != "Pod":
        yield from (spec["capacity"], status["capacity"])
    yield from _requests_and_limits(spec)
    pod = spec if kind == "Pod" else spec["template"]["spec"]
    yield pod["overhead"]
    for container in (*pod["containers"].items, *pod["initContainers"].items):
        yield from _requests_and_limits(container)


def _requests_and_limits(item: FieldValue) -> Iterator[FieldValue]:
    return (item["resources"][name] for name in ("requests", "limits"))
