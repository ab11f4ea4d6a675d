"""One change of one object, and fixes, which are one or more changes after which a pod finds a node."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.marking import gettext_noop
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.queueing.explaining.queue_state import QueueState

# (kind, namespace, name) of an object.
ObjectKey = tuple[str, str, str]
# Returns the object after the change, from the object before it; the latter is None for an object to create.
Edit = Callable[[Json | None], Json]
# Returns the quota queues of the cluster, None if it has none; reading them takes a while.
ReadQueues = Callable[[], "QueueState | None"]


class ChangeKind(StrEnum):
    """The kinds of changes. REST shows these words."""

    LOWER_REQUEST = "lower_request"
    REPLACE_RESOURCE = "replace_resource"
    ADD_TOLERATION = "add_toleration"
    REMOVE_TAINT = "remove_taint"
    REPAIR_NODE = "repair_node"
    UNCORDON_NODE = "uncordon_node"
    LABEL_NODE = "label_node"
    CHANGE_NODE_SELECTOR = "change_node_selector"
    REMOVE_NODE_SELECTOR = "remove_node_selector"
    EXTEND_NODE_AFFINITY = "extend_node_affinity"
    REMOVE_GATE = "remove_gate"
    RAISE_QUOTA = "raise_quota"
    RAISE_BORROWING_LIMIT = "raise_borrowing_limit"
    RAISE_SKEW = "raise_skew"
    SOFTEN_SPREAD = "soften_spread"
    SOFTEN_AFFINITY = "soften_affinity"
    SOFTEN_ANTI_AFFINITY = "soften_anti_affinity"
    SOFTEN_OTHERS = "soften_others"
    REMOVE_HOST_PORT = "remove_host_port"
    RAISE_POD_LIMIT = "raise_pod_limit"
    MOVE_POD = "move_pod"
    ADD_NODE = "add_node"
    CREATE_CLAIM = "create_claim"
    CHANGE_STORAGE_CLASS = "change_storage_class"
    LOWER_DEVICE_COUNT = "lower_device_count"
    CHANGE_SCHEDULER = "change_scheduler"


# What a person does, as a sentence without its full stop.
SENTENCES: dict[ChangeKind, str] = {
    ChangeKind.LOWER_REQUEST: gettext_noop(
        "Lower the %(resource)s request of container %(container)s from %(before)s to %(after)s"
    ),
    ChangeKind.REPLACE_RESOURCE: gettext_noop(
        "Request %(after)s instead of %(before)s in container %(container)s, as nodes offer that"
    ),
    ChangeKind.ADD_TOLERATION: gettext_noop("Add a toleration for the taint %(taint)s"),
    ChangeKind.REMOVE_TAINT: gettext_noop("Remove the taint %(taint)s from node %(node)s"),
    ChangeKind.REPAIR_NODE: gettext_noop("Repair node %(node)s, which is tainted %(taint)s"),
    ChangeKind.UNCORDON_NODE: gettext_noop("Uncordon node %(node)s"),
    ChangeKind.LABEL_NODE: gettext_noop("Label node %(node)s with %(label)s"),
    ChangeKind.CHANGE_NODE_SELECTOR: gettext_noop("Change the node selector %(key)s from %(before)s to %(after)s"),
    ChangeKind.REMOVE_NODE_SELECTOR: gettext_noop("Remove the node selector %(label)s"),
    ChangeKind.EXTEND_NODE_AFFINITY: gettext_noop("Allow %(key)s=%(value)s in the required node affinity"),
    ChangeKind.REMOVE_GATE: gettext_noop("Remove the scheduling gate %(gate)s"),
    ChangeKind.RAISE_QUOTA: gettext_noop("Raise the quota of %(queue)s in flavor %(flavor)s: %(amounts)s"),
    ChangeKind.RAISE_BORROWING_LIMIT: gettext_noop(
        "Raise the borrowing limit of %(queue)s in flavor %(flavor)s: %(amounts)s"
    ),
    ChangeKind.RAISE_SKEW: gettext_noop(
        "Raise maxSkew of the spread constraint over %(key)s from %(before)s to %(after)s"
    ),
    ChangeKind.SOFTEN_SPREAD: gettext_noop("Make the spread constraint over %(key)s a preference"),
    ChangeKind.SOFTEN_AFFINITY: gettext_noop("Make the pod affinity over %(key)s a preference"),
    ChangeKind.SOFTEN_ANTI_AFFINITY: gettext_noop("Make the pod anti-affinity over %(key)s a preference"),
    ChangeKind.SOFTEN_OTHERS: gettext_noop("Make the required pod anti-affinity of %(owner)s a preference"),
    ChangeKind.REMOVE_HOST_PORT: gettext_noop("Remove the host port %(port)s of container %(container)s"),
    ChangeKind.RAISE_POD_LIMIT: gettext_noop(
        "Raise the pod limit (maxPods of the kubelet) of node %(node)s from %(before)s to %(after)s"
    ),
    ChangeKind.MOVE_POD: gettext_noop("Move pod %(pod)s from node %(node)s to %(target)s"),
    ChangeKind.ADD_NODE: gettext_noop("Add a node like %(node)s"),
    ChangeKind.CREATE_CLAIM: gettext_noop("Create the volume claim %(claim)s with storage class %(class)s"),
    ChangeKind.CHANGE_STORAGE_CLASS: gettext_noop(
        "Create the volume claim %(claim)s again with storage class %(after)s instead of %(before)s"
    ),
    ChangeKind.LOWER_DEVICE_COUNT: gettext_noop(
        "Lower the count of request %(request)s in claim %(claim)s from %(before)s to %(after)s"
    ),
    ChangeKind.CHANGE_SCHEDULER: gettext_noop("Change schedulerName from %(before)s to %(after)s"),
}
# What follows the changes. "node" is a name.
OUTCOME = gettext_noop("%(changes)s: then it fits %(node)s.")
CONJUNCTION = gettext_noop("%(first)s, and %(then)s")


@dataclass(frozen=True)
class Change:
    """A change of a field of one object."""

    kind: ChangeKind
    # The object that a person edits: of a pod with a controller that one's.
    target: ObjectKey
    # The field, such as ``spec.template.spec.tolerations``.
    path: str
    before: Any
    after: Any
    # Arguments of the sentence.
    words: Mapping[str, str]
    # How large the change is: of two that help, the lower one comes first.
    cost: float
    # The object whose content is changed for the trial: the pod itself, or as `target`.
    subject: ObjectKey = field(repr=False)
    edit: Edit = field(repr=False)
    # A command that does it, "" where kubectl has none.
    command: str = ""

    @property
    def sentence(self) -> str:
        return SENTENCES[self.kind] % self.words

    def to_dict(self) -> Json:
        kind, namespace, name = self.target
        return {
            "kind": str(self.kind),
            "object": {"kind": kind, "namespace": namespace, "name": name},
            "path": self.path,
            "before": self.before,
            "after": self.after,
            "sentence": self.sentence,
            "arguments": dict(self.words),
            "command": self.command,
        }


@dataclass(frozen=True)
class Fix:
    """Changes after which the engine finds a node for the pod."""

    changes: tuple[Change, ...]
    node: str

    @property
    def cost(self) -> float:
        return sum(change.cost for change in self.changes)

    @property
    def sentence(self) -> str:
        sentences = list(dict.fromkeys(change.sentence for change in self.changes))
        return OUTCOME % {"changes": join_sentences(sentences), "node": self.node}

    def to_dict(self) -> Json:
        return {
            "sentence": self.sentence,
            "node": self.node,
            "changes": [change.to_dict() for change in self.changes],
        }

    def edit_objects(self, objects: Mapping[ObjectKey, Json]) -> dict[ObjectKey, Json]:
        """Return the changed objects, those of the same key applied one after the other."""
        return apply_changes(self.changes, objects)


def apply_changes(changes: tuple[Change, ...], objects: Mapping[ObjectKey, Json]) -> dict[ObjectKey, Json]:
    """Return the objects that ``changes`` change or create, by key. ``objects`` stay as they are."""
    changed: dict[ObjectKey, Json] = {}
    for change in changes:
        changed[change.subject] = change.edit(changed.get(change.subject, objects.get(change.subject)))
    return changed


def join_sentences(sentences: list[str], conjunction: str = CONJUNCTION) -> str:
    """Join sentences of changes; all but the first lose their capital letter."""
    joined = sentences[0]
    for sentence in sentences[1:]:
        joined = conjunction % {"first": joined, "then": sentence[:1].lower() + sentence[1:]}
    return joined


def replace_at(raw: Json | None, path: tuple[str | int, ...], value: Any) -> Json:
    """Return a copy of ``raw`` with ``value`` at ``path``; None removes the last key."""
    content: Any = dict(raw or {})
    container = content
    for key, following in pairwise(path):
        inner = container[key] if isinstance(key, int) else container.get(key)
        inner = list(inner or []) if isinstance(following, int) else dict(inner or {})
        container[key] = inner
        container = inner
    last = path[-1]
    if value is None:
        if isinstance(last, int):
            del container[last]
        else:
            container.pop(last, None)
    else:
        container[last] = value
    return dict(content)


def prefer_first_term(raw: Json | None, name: str) -> Json:
    """Return a pod whose first required term of ``podAffinity`` or ``podAntiAffinity`` is preferred."""
    affinity = dict((((raw or {}).get("spec") or {}).get("affinity") or {}).get(name) or {})
    required = list(affinity.pop(REQUIRED, None) or [])
    preferred = [*(affinity.get(PREFERRED) or []), {"weight": 100, "podAffinityTerm": required[0]}]
    other_terms = {REQUIRED: required[1:]} if required[1:] else {}
    return replace_at(raw, ("spec", "affinity", name), {**affinity, PREFERRED: preferred, **other_terms})


def patch_command(target: ObjectKey, path: tuple[str | int, ...], value: Any) -> str:
    """Return the kubectl command that sets ``path`` of ``target`` to ``value``, or removes it if that is None."""
    kind, namespace, name = target
    pointer = "/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in path)
    operation: Json = {"op": "remove", "path": pointer} if value is None else {"op": "add", "path": pointer}
    if value is not None:
        operation["value"] = value
    words = ["kubectl", "patch", kind.lower(), name, *(["-n", namespace] if namespace else [])]
    return shlex.join([*words, "--type=json", "-p", json.dumps([operation], separators=(",", ":"))])
