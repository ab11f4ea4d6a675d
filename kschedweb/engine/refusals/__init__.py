"""What an API server refuses of an object, in its words, where it concerns scheduling.

kube-scheduler never sees such objects, but people write them. Nothing is refused here: whoever takes the object in says
what a cluster would have said. The rules are those of 1.37, for an object that is created.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterator
from typing import Any

from kschedweb.engine.objects.access import Json, ObjectError, mapping
from kschedweb.engine.objects.alike import Alike
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import NEGATIVE
from kschedweb.engine.objects.workloads import check
from kschedweb.engine.refusals.labels import dns_label_problems, label_problems, subdomain_problems
from kschedweb.engine.refusals.others import (
    budget_problems,
    claim_problems,
    node_content,
    node_problems,
    priority_class_problems,
    service_problems,
    storage_class_problems,
    volume_problems,
)
from kschedweb.engine.refusals.part import Part
from kschedweb.engine.refusals.pods import pod_problems, shared_content, shared_problems
from kschedweb.engine.refusals.resources import unread
from kschedweb.engine.refusals.workloads import controller_problems, job_problems
from kschedweb.engine.validation.fields import Problem, Typed, invalid, required
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

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


@dataclass(frozen=True, slots=True)
class Rules:
    """What is looked at in a kind of ``group``: each object's ``own`` problems, and those that it ``shares``.

    ``content`` is what the latter depend on, so that they are looked for once for objects that have the same; it raises
    ValueError for what is no JSON.
    """

    group: str
    own: Callable[[Part], Iterator[Problem]]
    shared: Callable[[Part], Iterator[Problem]] | None = None
    content: Callable[[Json], bytes] | None = None


def _labels(pod: Part) -> dict[str, str]:
    """The labels whose values a pod's selectors get; in one that an API server keeps they have been written there."""
    metadata = pod["metadata"]
    return {} if metadata["uid"].given else metadata["labels"].labels


RULES: dict[str, Rules] = {
    "Pod": Rules(
        "",
        lambda pod: pod_problems(pod["spec"]),
        lambda pod: shared_problems(pod["spec"], _labels(pod)),
        lambda pod: shared_content(pod.get("spec"), _labels(Part("", pod))),
    ),
    "Node": Rules("", lambda _: iter(()), node_problems, node_content),
    "Service": Rules("", service_problems),
    "PersistentVolume": Rules("", volume_problems),
    "PersistentVolumeClaim": Rules("", claim_problems),
    "StorageClass": Rules("storage.k8s.io", storage_class_problems),
    "PriorityClass": Rules("scheduling.k8s.io", priority_class_problems),
    "PodDisruptionBudget": Rules("policy", budget_problems),
    "Job": Rules("batch", job_problems),
    **{kind: Rules("apps", controller_problems) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
}

JOB_NAME = "job-name"  # the label that the API server gives to the pods of a job
MOST_KNOWN = 4096
UNDOTTED = ("Namespace", "Service", "StatefulSet")  # kinds whose names have no dots
UNNAMED = ("PodDisruptionBudget",)  # those whose names may be anything, and whose labels are looked at in the end


def refusals(raw: Any, *, read: bool = False) -> list[Refusal]:
    """What an API server would say of ``raw``; none of a kind that is not known here.

    ``read``: if it is a Node or a Pod, it was read without an error.
    """
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        return []
    rules, item = RULES[kind], Part("", raw)
    broken, shared = _shared(kind, item, rules)
    if broken is not None:
        return [broken]
    if not (read and kind in ("Node", "Pod")) and _misread(kind, raw):
        return []
    own = [*rules.own(item), *shared]
    common = metadata_problems(item) if kind not in UNNAMED or not own else ()
    problems = {problem.text: problem for problem in (*common, *own)}
    if not problems:
        return []
    start = f"{kind}.{rules.group}" if rules.group else kind
    said = f"{start} {quote(item['metadata']['name'].text)} is invalid: "
    return [Refusal(place(kind, one.path), said + one.text, one) for one in problems.values()]


Shared = tuple[Refusal | None, tuple[Problem, ...]]
_KNOWN: Alike[Shared] = Alike(MOST_KNOWN)


def _shared(kind: str, item: Part, rules: Rules) -> Shared:
    """(what cannot be decoded, what is wrong otherwise) of what ``item`` has in common with others."""
    if rules.content is None or rules.shared is None:
        return next(_unread(item), None), ()
    try:
        content = marshal.dumps((kind, item.value.get("apiVersion")), 2) + rules.content(item.value)
    except ValueError:  # whoever reads it says what is wrong
        return next(_unread(item), None), ()
    if (found := _KNOWN.get(content)) is None:
        broken = next(_unread(item), None)
        found = _KNOWN.keep(content, (broken, () if broken else tuple(rules.shared(item))))
    return found


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
    kind, metadata = item["kind"].text, item["metadata"]
    if kind not in UNNAMED:
        yield from (dns_label_problems if kind in UNDOTTED else subdomain_problems)(metadata["name"])
    labels = metadata["labels"]
    if kind == "Job" and not labels.labels:  # those of its pods are then taken
        of_pods = item["spec"]["template"]["metadata"]["labels"]
        if of_pods.given:
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
    kind, spec, status = item["kind"].text, item["spec"], item["status"]
    if kind == "Node":
        yield from (status["capacity"], status["allocatable"])
        return
    if kind != "Pod":
        yield from (spec["capacity"], status["capacity"])
    yield from _requirements(spec)
    pod = spec if kind == "Pod" else spec["template"]["spec"]
    yield pod["overhead"]
    for container in (*pod["containers"].items, *pod["initContainers"].items):
        yield from _requirements(container)


def _requirements(item: Part) -> Iterator[Part]:
    return (item["resources"][name] for name in ("requests", "limits"))
