"""The rights that the cluster's credentials need for each mode: as rights, as manifests, and those that are missing.

Reading is the same in every mode. Every other action of a live scheduler needs one right, and no mode gets a right for
an action that it does not take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import yaml

from kschedweb.clusters.connecting.access import REVIEWS, costs_without_watch, is_served
from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.kinds import EVENT, KINDS, SCHEDULER_KINDS
from kschedweb.engine.documents.writing import Dumper
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers.election.locks import LEASES, PARTS
from kschedweb.web.errors import Unprocessable

SHADOW, EXTENDER, SCHEDULING = MODES = ("shadow", "extender", "scheduling")
GROUP = "rbac.authorization.k8s.io"
EVENTS = "events.k8s.io"


@dataclass(frozen=True, order=True)
class Right:
    """The permission for ``verb`` on ``resource`` (with its subresource)."""

    # "" for the core API.
    group: str
    resource: str
    verb: str
    # Completes the sentence "Without it, …".
    costs: str = ""
    # "" for the whole cluster.
    namespace: str = ""
    # "" for all objects.
    name: str = ""
    # True for kinds that not every cluster serves.
    optional: bool = False

    def __str__(self) -> str:
        place = f" {self.name}" * bool(self.name) + f" in {self.namespace}" * bool(self.namespace)
        return f"{self.verb} {self.resource}{place}"

    @property
    def attributes(self) -> Json:
        """Return the attributes of an access review for it."""
        resource, _, subresource = self.resource.partition("/")
        attributes = {"group": self.group, "resource": resource, "subresource": subresource, "verb": self.verb}
        attributes |= {"namespace": self.namespace, "name": self.name}
        return {key: value for key, value in attributes.items() if value}


@dataclass(frozen=True)
class Needs:
    """The properties of a live scheduler that decide which rights it needs."""

    mode: str
    # A kind of election/locks.py, and the name and namespace of the lock.
    lock: str = LEASES
    lease: str = "kschedweb"
    lease_namespace: str = "kube-system"
    # True if its policy may make room by deleting pods.
    preemption: bool = False
    # True if it evicts them instead, so that the API server refuses what a budget forbids.
    keep_budgets: bool = False
    # True if pods have claims that wait for their first pod, claims of devices, and PodGroups.
    volumes: bool = True
    devices: bool = True
    groups: bool = True
    # True if, as an extender, it binds the pods that kube-scheduler hands over.
    binds: bool = False

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise Unprocessable(f"There are no rights for mode {self.mode}: it is one of {', '.join(MODES)}.")
        if self.lock not in PARTS:
            raise Unprocessable(f"There is no lock {self.lock}: it is one of {', '.join(PARTS)}.")


def rights_for(needs: Needs) -> list[Right]:
    """Return every right that ``needs`` calls for, each once."""
    rights = _reading_rights()
    if needs.mode == SCHEDULING:
        rights += _election_rights(needs) + _scheduling_rights(needs)
    elif needs.mode == EXTENDER and needs.binds:
        rights += _binding_rights()
    return rights


def _reading_rights() -> list[Right]:
    return [
        Right(
            kind.group,
            kind.resource,
            verb,
            kind.costs if verb == "list" else costs_without_watch(kind),
            optional=kind.optional,
        )
        for kind in (*SCHEDULER_KINDS, EVENT)
        for verb in ("list", "watch")
    ]


def _binding_rights() -> list[Right]:
    return [
        Right("", "pods/binding", "create", "no pod is bound"),
        Right("", "pods", "get", "a pod whose binding got no answer is taken for unbound until it is seen"),
    ]


def _election_rights(needs: Needs) -> list[Right]:
    place, nobody = needs.lease_namespace, "nobody leads, and nothing is done"
    rights = []
    for part in PARTS[needs.lock]:
        group = part.api.rpartition("/")[0]
        rights += [
            # An object that is to be created has no name yet, so RBAC cannot limit this right to a name.
            Right(group, part.resource, "create", nobody, namespace=place),
            Right(group, part.resource, "get", nobody, namespace=place, name=needs.lease),
            Right(group, part.resource, "update", nobody, namespace=place, name=needs.lease),
        ]
    return [*rights, Right("", "events", "create", "a change of leader leaves no event", namespace=place)]


def _scheduling_rights(needs: Needs) -> list[Right]:
    rights = [
        *_binding_rights(),
        Right("", "pods/status", "patch", "pods do not say why they wait, and none is nominated to a node"),
        Right(EVENTS, "events", "create", "pods have no events"),
        Right(EVENTS, "events", "patch", "events that repeat are not counted"),
    ]
    if needs.preemption and needs.keep_budgets:
        rights.append(Right("", "pods/eviction", "create", "no room is made for pods of higher priority"))
    elif needs.preemption:
        rights.append(Right("", "pods", "delete", "no room is made for pods of higher priority"))
    if needs.volumes:
        waits = "pods whose claims wait for their first pod are not bound"
        rights += [
            Right("", resource, verb, waits)
            for resource in ("persistentvolumeclaims", "persistentvolumes")
            for verb in ("get", "patch")
        ]
    if needs.groups:
        silent = "groups of pods do not say whether they were placed"
        rights += [
            Right("scheduling.k8s.io", f"{groups}/status", "patch", silent, optional=True)
            for groups in ("podgroups", "compositepodgroups")
        ]
    if needs.devices:
        devices = "pods that claim devices are not bound"
        extended = "pods whose extended resources a DeviceClass provides are not bound"
        rights += [
            Right("resource.k8s.io", "resourceclaims", verb, costs, optional=True)
            for verb, costs in (("get", devices), ("patch", devices), ("create", extended), ("delete", extended))
        ]
        rights += [
            Right("resource.k8s.io", f"resourceclaims/{sub}", "patch", devices, optional=True)
            for sub in ("status", "binding")
        ]
    return rights


def rights_missing(client: Client, needed: Iterable[Right]) -> list[Right]:
    """Return those of ``needed`` that ``client``'s credentials lack. Kinds that are not served are left out.

    It makes one access review per right. Raises ClusterError.
    """
    with ThreadPoolExecutor(8, thread_name_prefix="access-review") as pool:
        needed = list(needed)
        groups = {right.group for right in needed if right.optional}
        absent = {
            kind.resource for kind in KINDS if kind.group in groups and kind.optional and not is_served(client, kind)
        }
        served = [right for right in needed if right.resource.partition("/")[0] not in absent]
        answers = list(pool.map(lambda right: _has_right(client, right), served))
    return [right for right, has in zip(served, answers, strict=True) if not has]


def _has_right(client: Client, right: Right) -> bool:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    answer = client.create(REVIEWS, body | {"spec": {"resourceAttributes": right.attributes}})
    status = answer.get("status") if isinstance(answer, dict) else None
    return isinstance(status, dict) and status.get("allowed") is True


# Manifests.


def build_manifests(needs: Needs, *, account: str = "kschedweb", namespace: str = "kschedweb") -> list[Json]:
    """Return a service account, and roles that give it exactly ``rights_for(needs)``."""
    name = f"kschedweb-{needs.mode}"
    everywhere = [right for right in rights_for(needs) if not right.namespace]
    local = [right for right in rights_for(needs) if right.namespace]
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    objects: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}},
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": policy_rules(everywhere),
        },
        _role_binding("ClusterRole", {"name": name}, subject),
    ]
    if local:
        metadata = {"name": f"{name}-{needs.lease.removeprefix('kschedweb-')}", "namespace": needs.lease_namespace}
        objects += [
            {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": policy_rules(local)},
            _role_binding("Role", metadata, subject),
        ]
    return objects


def config_map_text(name: str, place: str, *, account: str = "kschedweb", namespace: str = "kschedweb") -> str:
    """Return the manifests for reading one ConfigMap, in the namespace ``place``, for a classic policy."""
    metadata = {"name": f"kschedweb-policy-{name}", "namespace": place}
    rights = [Right("", "configmaps", "get", namespace=place, name=name)]
    role: Json = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": policy_rules(rights)}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    head = "# What kschedweb needs to read one ConfigMap for a policy, and nothing else.\n"
    return head + _dump_yaml([role, _role_binding("Role", metadata, subject)])


def _role_binding(kind: str, metadata: Json, subject: Json) -> Json:
    reference = {"apiGroup": GROUP, "kind": kind, "name": metadata["name"]}
    binding = {"apiVersion": f"{GROUP}/v1", "kind": f"{kind}Binding", "metadata": metadata}
    return binding | {"roleRef": reference, "subjects": [subject]}


def policy_rules(rights: Sequence[Right]) -> list[Json]:
    """Return ``rights`` as rules: resources of one group with the same verbs share a rule."""
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.name, right.resource), []).append(right.verb)
    # Kinds keep their order within a group; groups stand in the order of their first resource.
    order = {group: at for at, group in reversed(list(enumerate(group for group, _, _ in verbs)))}

    def sort_key(item: tuple[tuple[str, str, str], list[str]]) -> tuple[int, str, list[str]]:
        (group, name, _), right_verbs = item
        return order[group], name, right_verbs

    together = groupby(sorted(verbs.items(), key=sort_key), key=sort_key)
    return [_policy_rule(dict(items), right_verbs) for (_, _, right_verbs), items in together]


def _policy_rule(items: dict[tuple[str, str, str], list[str]], verbs: list[str]) -> Json:
    group, name, _ = next(iter(items))
    rule: Json = {"apiGroups": [group], "resources": [resource for _, _, resource in items]}
    return rule | ({"resourceNames": [name]} if name else {}) | {"verbs": verbs}


def manifest_text(needs: Needs, *, account: str = "kschedweb", namespace: str = "kschedweb") -> str:
    """Return the manifests as YAML, for ``kubectl apply -f -``."""
    objects = build_manifests(needs, account=account, namespace=namespace)
    head = f"# What kschedweb needs for a live scheduler in mode {needs.mode}, and nothing else.\n"
    return head + _dump_yaml(objects)


def _dump_yaml(objects: list[Json]) -> str:
    return "---\n".join(yaml.dump(item, Dumper=_Flow, sort_keys=False, width=120) for item in objects)


class _Flow(Dumper):
    """Writes lists of words in one line and indents lists below their key, as people write manifests."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.nodes.SequenceNode:
        words = all(isinstance(item, str) for item in sequence)
        return super().represent_sequence(tag, sequence, flow_style=words)
