"""Changes of the pod that waits: its requests, tolerations, selectors, affinity, spread constraints and ports."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from kschedweb.engine.objects.amounts import format_amount
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY, is_pod_level
from kschedweb.engine.objects.spread import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.studies.fixes.changes import (
    Change,
    ChangeKind,
    Edit,
    ObjectKey,
    patch_command,
    prefer_first_term,
    replace_at,
)
from kschedweb.engine.studies.fixes.owners import PodSource
from kschedweb.engine.studies.fixes.shortages import ResourceShortage

# Amounts in nano-units of one unit as the scheduler counts it: a milli-CPU, or one of anything else.
NANO_OF_UNIT = {CPU: 10**6}
NANO = 10**9
# The least share of a request that is left: with less, the workload is another one.
LEAST_SHARE = 0.1
# The likeness from which a value of a selector looks misspelt.
ALIKE = 0.7
MEBIBYTE = 1 << 20


class PodChanges:
    """Makes changes of one pod."""

    def __init__(self, pod: Pod, source: PodSource) -> None:
        self.pod, self.source = pod, source
        self.key: ObjectKey = ("Pod", pod.namespace, pod.name)
        self._spec: Json = pod.raw.get("spec") or {}

    def _make(
        self,
        kind: ChangeKind,
        path: tuple[str | int, ...],
        value: Any,
        words: dict[str, str],
        cost: float,
        *,
        values: tuple[Any, Any],
        edit: Edit | None = None,
        command: str | None = None,
    ) -> Change:
        """Return a change of the field at ``path`` of the pod; ``values`` is what a person reads of it before and
        after.
        """
        if command is None:
            place = self.source.path_of(path)
            command = patch_command(self.source.target, place, value) if self.source.can_patch(path) else ""
        return Change(
            kind=kind,
            target=self.source.target,
            path=self._describe_path(path),
            before=values[0],
            after=values[1],
            words=words,
            cost=cost,
            subject=self.key,
            edit=edit or (lambda raw: replace_at(raw, path, value)),
            command=command,
        )

    def _describe_path(self, path: tuple[str | int, ...]) -> str:
        """Return ``path`` as text, with containers by their names."""
        text = ""
        content: Any = self.pod.raw
        for part in self.source.prefix:
            text += f".{part}"
        for part in path:
            try:
                content = content[part]
            except (KeyError, IndexError, TypeError):
                content = {}
            if isinstance(part, int):
                name = content.get("name") if isinstance(content, dict) else None
                text += f"[{name or part}]"
            else:
                text += f".{part}"
        return text.removeprefix(".")

    def lower_request(self, shortage: ResourceShortage) -> Change | None:
        """Return the smallest change of one container after which the pod requests no more than is free."""
        resource, free = shortage.resource, shortage.free
        if free < max(1, LEAST_SHARE * shortage.requested) or self._has_pod_level(resource):
            return None
        unit = NANO_OF_UNIT.get(resource, NANO)
        for group, position, requested in self._list_requests(resource, unit):
            for amount in (requested - shortage.missing, free):
                amount = _round_amount(amount, resource)
                if 0 < amount < requested and self._fits_after(group, position, resource, amount, free):
                    share = (requested - amount) / requested
                    return self._lower(group, position, resource, requested, amount, 1 + 4 * share)
        return None

    def _has_pod_level(self, resource: str) -> bool:
        """Return whether the pod as a whole has a request, which the sum of its containers must not exceed."""
        requests = (self._spec.get("resources") or {}).get("requests") or {}
        return is_pod_level(resource) and resource in requests

    def _list_requests(self, resource: str, unit: int) -> list[tuple[str, int, int]]:
        """Return (group of containers, position, units requested) of all that request ``resource``, largest first."""
        resources = self.pod.resources
        listed = [
            (group, position, -(-container.requests[resource] // unit))
            for group, containers in (
                ("containers", resources.containers),
                ("initContainers", resources.init_containers),
            )
            for position, container in enumerate(containers)
            if container.requests.get(resource)
        ]
        return sorted(listed, key=lambda item: -item[2])

    def _set_request(self, raw: Json | None, group: str, position: int, resource: str, quantity: str) -> Json:
        path = ("spec", group, position, "resources")
        raw = replace_at(raw, (*path, "requests", resource), quantity)
        # Of extended resources and huge pages, the limit must equal the request.
        if not _is_basic(resource):
            raw = replace_at(raw, (*path, "limits", resource), quantity)
        return raw

    def _fits_after(self, group: str, position: int, resource: str, amount: int, free: int) -> bool:
        quantity = format_quantity(amount, resource)
        try:
            changed = Pod.from_json(self._set_request(self.pod.raw, group, position, resource, quantity))
        except ObjectError:
            return False
        return changed.requests.get(resource, 0) <= free

    def _lower(self, group: str, position: int, resource: str, before: int, amount: int, cost: float) -> Change:
        quantity, container = format_quantity(amount, resource), str(self._spec[group][position].get("name"))
        words = {
            "resource": resource.upper() if resource == CPU else resource,
            "container": container,
            "before": format_amount(before, resource).removesuffix(" CPU"),
            "after": format_amount(amount, resource).removesuffix(" CPU"),
        }
        listed = f"{resource}={quantity}"
        amounts = [f"--requests={listed}", *([] if _is_basic(resource) else [f"--limits={listed}"])]
        kind, namespace, name = self.source.target
        command = " ".join(
            ["kubectl", "set", "resources", kind.lower(), name, "-n", namespace, "-c", container, *amounts]
        )
        return self._make(
            ChangeKind.LOWER_REQUEST,
            ("spec", group, position, "resources", "requests", resource),
            quantity,
            words,
            cost,
            values=(format_quantity(before, resource), quantity),
            edit=lambda raw: self._set_request(raw, group, position, resource, quantity),
            command=command if self.source.editable and group == "containers" else "",
        )

    def replace_resource(self, resource: str, offered: Iterable[str]) -> list[Change]:
        """Return changes that request one of the ``offered`` resources instead, the likeliest first."""
        containers = self._list_requests(resource, NANO)
        if len(containers) != 1:
            return []
        group, position, amount = containers[0]
        changes = []
        for name in sorted(offered, key=lambda name: (-_likeness(resource, name), name)):
            if _likeness(resource, name) < ALIKE and name.partition("/")[0] != resource.partition("/")[0]:
                continue
            changes.append(self._replace_resource(group, position, resource, name, amount))
        return changes

    def _replace_resource(self, group: str, position: int, resource: str, name: str, amount: int) -> Change:
        def edit(raw: Json | None) -> Json:
            path = ("spec", group, position, "resources")
            for part in ("requests", "limits"):
                raw = replace_at(raw, (*path, part, resource), None)
                raw = replace_at(raw, (*path, part, name), str(amount))
            return raw or {}

        container = str(self._spec[group][position].get("name"))
        return self._make(
            ChangeKind.REPLACE_RESOURCE,
            ("spec", group, position, "resources"),
            None,
            {"before": resource, "after": name, "container": container},
            2.5,
            values=(resource, name),
            edit=edit,
            command="",
        )

    def tolerate(self, taint: Taint) -> Change:
        """Return the change that tolerates ``taint``."""
        toleration = {"key": taint.key, "operator": "Exists", "effect": taint.effect}
        if taint.value:
            toleration = {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
        path = ("spec", "tolerations")
        tolerations = [*(self._spec.get("tolerations") or []), toleration]

        def edit(raw: Json | None) -> Json:
            listed = ((raw or {}).get("spec") or {}).get("tolerations") or []
            return replace_at(raw, path, [*listed, toleration])

        return self._make(
            ChangeKind.ADD_TOLERATION,
            path,
            tolerations,
            {"taint": str(taint)},
            2.0,
            values=(None, toleration),
            edit=edit,
        )

    def change_node_selector(self, key: str, value: str, known_values: Iterable[str]) -> Change:
        """Return the change of the node selector ``key`` to ``value``, which a node has."""
        path, before = ("spec", "nodeSelector", key), self.pod.node_selector[key] if self.pod.node_selector else ""
        misspelt = before not in set(known_values) and _likeness(before, value) >= ALIKE
        words = {"key": key, "before": before or '""', "after": value or '""'}
        cost = 1.2 if misspelt else 2.1
        return self._make(ChangeKind.CHANGE_NODE_SELECTOR, path, value, words, cost, values=(before, value))

    def remove_node_selector(self, key: str) -> Change:
        value = (self.pod.node_selector or {}).get(key, "")
        path, words = ("spec", "nodeSelector", key), {"label": f"{key}={value}"}
        return self._make(ChangeKind.REMOVE_NODE_SELECTOR, path, None, words, 2.4, values=(value, None))

    def extend_node_affinity(self, term: int, expression: int, value: str) -> Change:
        """Return the change that adds ``value`` to an expression with the operator In."""
        at = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms", term, "matchExpressions", expression)
        content: Any = self.pod.raw
        for part in at:
            content = content[part]
        path, values = (*at, "values"), list(content.get("values") or [])
        words = {"key": str(content.get("key")), "value": value}
        return self._make(
            ChangeKind.EXTEND_NODE_AFFINITY,
            path,
            [*values, value],
            words,
            2.1,
            values=(values, [*values, value]),
        )

    def remove_gates(self) -> tuple[Change, ...]:
        """Return the changes that remove all scheduling gates, the last one first."""
        return tuple(self._remove_gate(position) for position in reversed(range(len(self.pod.gates))))

    def _remove_gate(self, position: int) -> Change:
        path, gate = ("spec", "schedulingGates"), self.pod.gates[position]

        def edit(raw: Json | None) -> Json:
            gates = ((raw or {}).get("spec") or {}).get("schedulingGates") or []
            return replace_at(raw, path, [item for item in gates if item.get("name") != gate])

        return self._make(
            ChangeKind.REMOVE_GATE,
            path,
            None,
            {"gate": gate},
            1.0,
            values=(gate, None),
            edit=edit,
            command=patch_command(self.key, (*path, position), None),
        )

    def raise_skew(self, key: str, skew: int) -> list[Change]:
        """Return the changes that allow a skew over the topology ``key``, the smaller first."""
        changes = []
        for position, constraint in enumerate(self._spec.get("topologySpreadConstraints") or []):
            if constraint.get("topologyKey") != key or constraint.get("whenUnsatisfiable") != DO_NOT_SCHEDULE:
                continue
            at, limit = ("spec", "topologySpreadConstraints", position), int(constraint.get("maxSkew") or 1)
            if skew > limit:
                words = {"key": key, "before": str(limit), "after": str(skew)}
                cost = 1.5 + min(skew - limit, 10) / 10
                changes.append(
                    self._make(ChangeKind.RAISE_SKEW, (*at, "maxSkew"), skew, words, cost, values=(limit, skew))
                )
            changes.append(
                self._make(
                    ChangeKind.SOFTEN_SPREAD,
                    (*at, "whenUnsatisfiable"),
                    SCHEDULE_ANYWAY,
                    {"key": key},
                    2.6,
                    values=(DO_NOT_SCHEDULE, SCHEDULE_ANYWAY),
                )
            )
        return changes

    def soften_spread(self, keys: Iterable[str]) -> tuple[Change, ...]:
        """Return the changes that prefer the spread over topology ``keys`` instead of requiring it."""
        return tuple(self.raise_skew(key, 0)[-1] for key in keys)

    def soften_affinity(self, name: str) -> tuple[Change, ...]:
        """Return the changes that prefer all terms of ``podAffinity`` or ``podAntiAffinity`` that are required."""
        terms = ((self._spec.get("affinity") or {}).get(name) or {}).get(REQUIRED) or []
        kind = ChangeKind.SOFTEN_AFFINITY if name == "podAffinity" else ChangeKind.SOFTEN_ANTI_AFFINITY
        path = ("spec", "affinity", name)

        return tuple(
            self._make(
                kind,
                (*path, REQUIRED, position),
                None,
                {"key": str(term.get("topologyKey"))},
                3.0,
                values=(REQUIRED, PREFERRED),
                edit=lambda raw: prefer_first_term(raw, name),
                command="",
            )
            for position, term in enumerate(terms)
        )

    def remove_host_port(self, port: int) -> tuple[Change, ...]:
        """Return the changes that ask for no host ``port``; none for a pod in the network of its node."""
        if self._spec.get("hostNetwork"):
            return ()
        changes = []
        for position, container in enumerate(self._spec.get("containers") or []):
            for index, listed in enumerate(container.get("ports") or []):
                if listed.get("hostPort") == port:
                    path = ("spec", "containers", position, "ports", index, "hostPort")
                    words = {"port": str(port), "container": str(container.get("name"))}
                    changes.append(
                        self._make(ChangeKind.REMOVE_HOST_PORT, path, None, words, 2.8, values=(port, None), command="")
                    )
        return tuple(changes)

    def change_scheduler(self, scheduler: str) -> Change:
        """Return the change that has ``scheduler`` place the pod."""
        words = {"before": self.pod.scheduler_name, "after": scheduler}
        values = (self.pod.scheduler_name, scheduler)
        return self._make(ChangeKind.CHANGE_SCHEDULER, ("spec", "schedulerName"), scheduler, words, 2.0, values=values)


def format_quantity(amount: int, resource: str) -> str:
    """Return an amount in milli-CPU or whole units as a quantity of Kubernetes."""
    if resource == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if resource == MEMORY or resource == "ephemeral-storage" or resource.startswith("hugepages-"):
        for suffix, bits in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
            if amount and not amount % (1 << bits):
                return f"{amount >> bits}{suffix}"
    return str(amount)


def _round_amount(amount: int, resource: str) -> int:
    """Return bytes rounded down to whole mebibytes, which a person would write."""
    is_bytes = resource in (MEMORY, "ephemeral-storage")
    return amount // MEBIBYTE * MEBIBYTE if is_bytes and amount >= MEBIBYTE else amount


def _is_basic(resource: str) -> bool:
    return resource in (CPU, MEMORY, "ephemeral-storage")


def _likeness(text: str, other: str) -> float:
    return SequenceMatcher(None, text.lower(), other.lower()).ratio()
