"""Refusals of an API server, in its words, of objects that concern scheduling.

kube-scheduler never sees such objects, but people write them. Nothing is refused here: the code that takes the object
in reports what a cluster would have said. The rules are those of 1.37, for an object that is created.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.content_cache import ContentCache
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
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

# The key of a map in a path, which is not the index of a list.
_KEY = re.compile(r"\[([^\[\]]*[^\[\]\d][^\[\]]*)\]")
# The braces of `{topologyKey, whenUnsatisfiable}`, which is no field.
_PAIR = re.compile(r"\.\{[^}]*\}")


@dataclass(frozen=True, slots=True)
class ApiRefusal:
    """One sentence of the API server."""

    # Place in the object, such as ``spec.containers[0].resources.requests['nvidia.com/gpu']``.
    path: str
    # The whole sentence.
    text: str
    # The part about one field.
    problem: Problem


@dataclass(frozen=True, slots=True)
class KindRules:
    """The rules for one kind of object."""

    # API group; "" for the core group.
    group: str
    # Problems that are looked for in each object.
    own_problems: Callable[[FieldValue], Iterator[Problem]]
    # Problems that are looked for once for all objects with the same ``content``.
    shared_problems: Callable[[FieldValue], Iterator[Problem]] | None = None
    # The bytes on which ``shared_problems`` depend. Raises ValueError for a value that is not JSON.
    content: Callable[[Json], bytes] | None = None


def _selector_labels(pod: FieldValue) -> dict[str, str]:
    """Return the labels that the API server copies into a pod's selectors.

    A stored object (with a uid) has them already.
    """
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

# The label that the API server gives to the pods of a job.
JOB_NAME = "job-name"
# Contents whose answer is cached: a cluster has far fewer templates than pods.
MOST_KNOWN = 4096
# Kinds whose names have no dots.
UNDOTTED = ("Namespace", "Service", "StatefulSet")
# Kinds whose names may be anything, and whose labels are checked last.
UNNAMED = ("PodDisruptionBudget",)


def find_refusals(raw: Any, *, read: bool = False) -> list[ApiRefusal]:
    """Return what an API server would say about ``raw``; nothing for an unknown kind.

    ``read``: if it is a Node or a Pod, it has been read without an error.
    """
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        return []
    rules, item = RULES[kind], FieldValue("", raw)
    broken, shared = _find_shared(kind, item, rules)
    if broken is not None:
        return [broken]
    # Reading is slow, and nodes and pods have been read already.
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


# (the decoding error, the other problems)
Shared = tuple[ApiRefusal | None, tuple[Problem, ...]]
_SHARED_CACHE: ContentCache[Shared] = ContentCache(MOST_KNOWN)


def _find_shared(kind: str, item: FieldValue, rules: KindRules) -> Shared:
    """Return the problems of the parts that ``item`` has in common with other objects."""
    if rules.content is None or rules.shared_problems is None:
        return next(_find_unreadable(item), None), ()
    try:
        content = marshal.dumps((kind, item.value.get("apiVersion")), 2) + rules.content(item.value)
    except ValueError:  # the reader of the object reports it
        return next(_find_unreadable(item), None), ()
    if (cached := _SHARED_CACHE.get(content)) is None:
        broken = next(_find_unreadable(item), None)
        cached = _SHARED_CACHE.store(content, (broken, () if broken else tuple(rules.shared_problems(item))))
    return cached


def to_object_path(kind: str, path: str) -> str:
    """Return the path in the object for the API server's ``path``."""
    if kind == "Node":
        path = path.replace("metadata.taints", "spec.taints")
    path = re.sub(r"^spec\.template\.labels", "spec.template.metadata.labels", path)
    return _KEY.sub(r"['\1']", _PAIR.sub("", path))


def _is_misread(kind: str, raw: Json) -> bool:
    """Return whether a field has the wrong type, which the readers of the object report."""
    try:
        if kind == "Node":
            Node.from_json(raw)
        elif kind == "Pod" or "template" in get_mapping(raw, "spec"):
            pod = raw if kind == "Pod" else get_mapping(get_mapping(raw, "spec"), "template")
            Pod.from_json({"metadata": {**get_mapping(pod, "metadata"), "name": "a"}, "spec": pod.get("spec")})
        check_readable(kind, raw)
    except ObjectError as error:
        # A negative amount is a validation error of the API server, not one of type.
        return NEGATIVE not in str(error)
    return False


def metadata_problems(item: FieldValue) -> Iterator[Problem]:
    """Yield the problems of an object's name and labels."""
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
    """Yield the problems of references to owners."""
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
    """Yield the values that are no quantity. An API server then checks nothing else."""
    kind, version = item["kind"].text, item["apiVersion"].text or "v1"
    for listed in _resource_lists(item):
        for problem in find_unreadable(listed):
            message = f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind}: {problem.text}'
            yield ApiRefusal(to_object_path(kind, problem.path), message, problem)


def _resource_lists(item: FieldValue) -> Iterator[FieldValue]:
    """Yield every list of resources in an object."""
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
