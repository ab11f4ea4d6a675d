"""Pods and groups tried by the engine's queue and cycles, in rounds, as tests/originals/gangs has the real ones do.

In a round each entity (a pod, or a group) that the queue gives is tried once at most; given again, it waits for the
next round. With ``most`` a round goes on as long as the queue gives something. What a cycle wrote is told to the queue
at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from datetime import UTC, datetime

from kschedweb.engine import Node, Pod
from kschedweb.engine.config import EMPTY, Configuration, Release
from kschedweb.engine.cycle.binding import BindingCycle
from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.cycle.placement import NO_NODES, Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import WITH_POST_FILTER
from kschedweb.engine.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    UNSCHEDULED_POD_ADD,
    node_changes,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.podgroup import COMPOSITE, PodGroup, is_group
from kschedweb.engine.queue import GroupQueue, QueuedGroup, QueuedPod, QueueTiming
from kschedweb.engine.queue.queued_pods import Queued
from kschedweb.engine.releases import get_release, load
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.state.snapshot import Snapshot

Changes = list[tuple[Pod, Pod]]
START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
STEP, MOMENT, HOUR = 1e-3, 1e-6, 3600.0  # seconds
EARLY = ("Node", "PodGroup", "CompositePodGroup")
CONDITION = ("type", "status", "reason", "message")


class Rounds:
    """Runs one scenario."""

    def __init__(self, scenario: Json) -> None:
        release = get_release(
            scenario.get("release", "1.37"), {"GenericWorkload": True} | scenario.get("featureGates", {})
        )
        if not release.behaviour.pod_group_hierarchies:
            _refuse_composites(scenario, release)
        loaded = load(scenario.get("config") or EMPTY, release)
        if loaded.configuration is None:
            raise ValueError("; ".join(loaded.errors))
        self.configuration: Configuration = loaded.configuration
        self.scenario, self.now = scenario, START
        self.world, self.nominator = SchedulerCache(Snapshot()), Nominator()
        self.groups = self.world.cluster.groups
        self.scheduler = Scheduler(self.world.snapshot, self.configuration, nominator=self.nominator)
        self.queue = GroupQueue(
            self.scheduler.frameworks,
            self.world.cluster,
            QueueTiming.from_document(self.configuration.document, START),
            behaviour=release.behaviour,
            nominator=self.nominator,
            composites=release.has_composite_groups,
        )
        self.pending: dict[str, Pod] = {}
        self.starts = 0
        self.attempts: list[Json] = []

    def play(self) -> Json:
        """Play the rounds; return each attempt with its outcome, and the pods left without a node."""
        scenario = self.scenario
        objects = deepcopy([*scenario["objects"], *scenario["pending"]])
        objects.sort(key=lambda raw: 2 if raw["kind"] == "Pod" else raw["kind"] in EARLY)
        batches = [objects, *deepcopy(scenario.get("later", []))]
        rounds = max(scenario.get("rounds", 1), len(batches))
        for number, coming in enumerate([*batches, *([] for _ in range(rounds - len(batches)))], 1):
            self.now += HOUR
            self.queue.activate(self.pending.values(), self.now)
            for raw in coming:
                self.now += STEP
                self._tell(raw)
            self._round(number)
        return {"name": scenario["name"], "attempts": self.attempts, "pending": sorted(self.pending)}

    def _round(self, number: int) -> None:
        """Each entity once, or with ``most`` as many attempts as the queue asks for, up to that number."""
        tried_keys: set[str] = set()
        max_attempts, attempt_count = self.scenario.get("most", 0), 0
        while len(self.queue.active) or (max_attempts and self.queue.is_ready):
            self.now += STEP
            entity = self.queue.pop_entity()
            assert entity is not None
            if entity.key in tried_keys and not max_attempts:
                self._hold(entity)
                continue
            tried_keys.add(entity.key)
            self.attempts.append({"round": number} | self._try(entity))
            attempt_count += 1
            if attempt_count == max_attempts:
                return

    def _hold(self, entity: Queued) -> None:
        """Put back what was tried already, with the times that it has."""
        for member in list(entity.members):
            self.queue.put_back(member, member.queued, member.rejected_by, member.pending)
        if isinstance(entity, QueuedGroup):
            self.queue.conclude_group(entity, entity.queued, placed=False, rejected=True)

    # Objects come.

    def _tell(self, raw: Json) -> None:
        if raw["kind"] == "Node":
            node = Node.from_json(raw)
            old = self.world.nodes.get(node.name)
            self.world.set_node(node)
            for event in [NODE_ADD] if old is None else node_changes(old, node):
                self.queue.move_all_to_active_or_backoff(event, old, node, self.now)
        elif raw["kind"] == "Pod":
            self._tell_pod(self._read(raw))
        elif is_group(raw):
            self._tell_group(raw)
        else:
            self.world.cluster.add(raw)

    def _tell_group(self, raw: Json) -> None:
        group = PodGroup.from_json(raw)
        old = self.groups.refresh(group)
        if old is not None:
            raw = raw | {"status": old.raw.get("status", {})}
            group = PodGroup.from_json(raw)
        self.world.cluster.add(raw)
        self.queue.follow_group(old, group, self.now)

    def _tell_pod(self, pod: Pod) -> None:
        self.groups.add_member(pod)
        if pod.node_name:
            self.world.add_pod(pod)
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, pod, self.now)
        else:
            self.pending[pod.key] = pod
            self.queue.add(pod, self.now)
            self.queue.move_all_to_active_or_backoff(UNSCHEDULED_POD_ADD, None, pod, self.now)

    def _read(self, raw: Json) -> Pod:
        return Pod.from_json(raw).with_counting(self.configuration.release.counting)

    # Entities are tried.

    def _try(self, entity: Queued) -> Json:
        self.scheduler.use_snapshot(self.world.snapshot)
        leaving = [member for member in entity.members if member.pod.terminating]
        live_members = [member for member in entity.members if not member.pod.terminating]
        refused: GroupPlacement | None = None
        if isinstance(entity, QueuedGroup) and leaving:
            refused = self.scheduler.refuse_group(self.groups.refresh(entity.group) or entity.group, entity.pods)
        if refused is None:
            for member in leaving:
                self.queue.mark_done(member.pod.uid)
        if isinstance(entity, QueuedGroup):
            entity.members = live_members if refused is None else entity.members
            return self._try_group(entity, refused)
        attempt: Json = {"entity": f"pod {entity.key}", "pods": []}
        if live_members:
            (member,) = live_members
            placement = self.scheduler.find(member.pod, WITH_POST_FILTER)
            changes = self._given_up(member.pod, placement)
            bound = self._settle(attempt, live_members, [placement], changes)
            self._hear(attempt, placement.victims, changes, bound)
        return attempt

    def _try_group(self, entity: QueuedGroup, refused: GroupPlacement | None) -> Json:
        attempt: Json = {"entity": f"group {entity.group.key}", "pods": []}
        group = self.groups.refresh(entity.group)
        assert group is not None
        if entity.members:
            result = refused or self.scheduler.find_group(group, entity.pods)
            changes: Changes = []
            for node in sorted(result.cleared_nodes):
                changes += self._given_up_below(node, group.priority)
            bound = self._settle(attempt, entity.members, result.placements, changes)
            self.now += MOMENT
            self.queue.conclude_group(entity, self.now, placed=result.searched.ok, rejected=result.searched.is_rejected)
            for part in result.by_group:
                if part.placed or not part.group.scheduled:
                    self._write(part)
            self._hear(attempt, result.victims, changes, bound)
        else:
            self.queue.conclude_group(entity, self.now, placed=True, rejected=False)
        condition = self._condition(group)
        _, *parts = self.groups.build_tree(group, ()).walk()
        below = {part.group.name: told for part in parts if (told := self._condition(part.group))}
        attempt |= {"group": condition} if condition else {}
        return attempt | ({"groups": below} if below else {})

    def _condition(self, group: PodGroup) -> Json:
        conditions = (self.groups.refresh(group) or group).raw.get("status", {}).get("conditions", [])
        return {name: conditions[0][name] for name in CONDITION} if conditions else {}

    def _write(self, result: GroupPlacement) -> None:
        old = self.groups.refresh(result.group)
        assert old is not None
        group = PodGroup.from_json(old.raw | {"status": {"conditions": [dict(result.condition)]}})
        self.groups.put_group(group)
        self.queue.follow_group(old, group, self.now)

    def _settle(
        self, attempt: Json, members: Sequence[QueuedPod], placements: Sequence[Placement], changes: Changes
    ) -> dict[str, BindingCycle]:
        """Put the pods without a node back, note what is written about them, and return the bindings of the others."""
        bound: dict[str, BindingCycle] = {}
        for member, placement in zip(members, placements, strict=True):
            if placement.node:
                self.nominator.delete_nominated_pod(member.key)
                binding = bound[member.key] = self.scheduler.create_binding(member.pod, placement.node)
                assert binding.reserve_and_permit(self.now) is None
                self.queue.mark_done(member.pod.uid)
            else:
                attempt["pods"].append(self._refuse(member, placement, changes))
        for binding in bound.values():
            for plugin, allowed in binding.cycle.allows.items():
                for waiting in bound.keys() & allowed:
                    bound[waiting].allow(plugin)
        assert not [key for key, binding in bound.items() if binding.waits]
        for key, binding in bound.items():
            assert binding.run_binding() is None
            self.world.assume_pod(binding.cycle.snapshot.get_pod(key))
            del self.pending[key]
            attempt["pods"].append({"pod": key, "node": binding.node})
        attempt["pods"].sort(key=lambda line: str(line["pod"]))
        return bound

    def _refuse(self, member: QueuedPod, placement: Placement, changes: Changes) -> Json:
        old = member.pod
        reason = "SchedulerError" if placement.is_error and placement.message != NO_NODES else "Unschedulable"
        node = old.nominated_node if placement.nominated is None else placement.nominated
        self.now += MOMENT
        self.queue.put_back(member, self.now, placement.rejected_by)
        self.nominator.add_nominated_pod(old, node)
        raw = old.raw | {"status": old.raw.get("status", {}) | {"nominatedNodeName": node}}
        changes.append((old, self._read(raw)))
        refusal = {"pod": old.key, "reason": reason, "message": placement.condition}
        return refusal | ({"nominated": node} if node else {})

    def _given_up(self, pod: Pod, placement: Placement) -> Changes:
        """Pods of lower priority that wait for the node where ``pod`` makes room must look elsewhere."""
        return self._given_up_below(placement.nominated or "", pod.priority) if placement.victims else []

    def _given_up_below(self, node: str, priority: int) -> Changes:
        return [
            (
                nominated_pod,
                self._read(nominated_pod.raw | {"status": nominated_pod.raw["status"] | {"nominatedNodeName": ""}}),
            )
            for nominated_pod in self.nominator.nominated_pods_for_node(node)
            if nominated_pod.priority < priority and nominated_pod.nominated_node
        ]

    # What was written is told.

    def _hear(self, attempt: Json, victims: Sequence[str], changes: Changes, bound: dict[str, BindingCycle]) -> None:
        leaving = [pod for pod in map(self.world.snapshot.get_pod, victims) if not pod.terminating]
        for pod in leaving:
            self.now += STEP
            self.world.remove_pod(pod)
            self.groups.remove_member(pod)
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod, None, self.now)
        if leaving:
            attempt["evicted"] = sorted(pod.key for pod in leaving)
        for old, new in changes:
            self.now += STEP
            self.pending[new.key] = new
            self.queue.update(old, new, self.now)
            if old.nominated_node and old.nominated_node != new.nominated_node:
                self._room_given_up(old)
        for key in sorted(bound):
            self._start(key)

    def _room_given_up(self, pod: Pod) -> None:
        self.queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, pod, None, self.now, only=lambda other: other.priority <= pod.priority
        )

    def _start(self, key: str) -> None:
        """A bound pod says when it started: of two victims the one that did earlier counts for more."""
        self.now += STEP
        self.starts += 1
        old = self.world.snapshot.get_pod(key)
        time = datetime.fromtimestamp(START + self.starts, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        spec = old.raw["spec"] | {"nodeName": old.node_name}
        new = self._read(old.raw | {"spec": spec, "status": old.raw.get("status", {}) | {"startTime": time}})
        self.world.update_pod(old, new)
        self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_ADD, None, new, self.now)


def _refuse_composites(scenario: Json, release: Release) -> None:
    """Raise the error of a release whose API has no groups of groups."""
    if any(raw["kind"] == COMPOSITE for raw in scenario["objects"]):
        version = "scheduling.k8s.io/v1beta1"
        raise ValueError(f'no kind "{COMPOSITE}" is registered for version "{version}" in scheme "{release.scheme}"')
