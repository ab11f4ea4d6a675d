"""Scenarios: described queues and workloads, cycle by cycle, answered in the form of Kueue's own code as a program.

Between cycles the controllers work until nothing changes; evicted workloads give their quota back as a job does once
its pods have stopped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    describe_object,
    get_boolean,
    get_integer,
    get_mapping,
    get_objects,
    get_string,
    get_strings,
    get_time,
)
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.queueing.answer import (
    describe_conditions,
    describe_cycle,
    describe_tree,
    describe_workloads,
)
from kschedweb.engine.queueing.control_loop import ControlLoop
from kschedweb.engine.queueing.cycle.cycle import QuotaScheduler
from kschedweb.engine.queueing.gates import GateError, parse_gates
from kschedweb.engine.queueing.object_store import START_ORDER, ObjectStore
from kschedweb.engine.queueing.preemption.fair_preemption import DEFAULT_STRATEGIES
from kschedweb.engine.queueing.quota.objects import get_name, get_namespace
from kschedweb.engine.queueing.snapshot import QueueingSnapshot
from kschedweb.engine.queueing.workloads.conditions import Condition, Conditions, find_condition
from kschedweb.engine.queueing.workloads.requests import read_request_options
from kschedweb.engine.queueing.workloads.status_changes import set_check
from kschedweb.engine.queueing.workloads.webhooks import find_object_refusals
from kschedweb.engine.queueing.workloads.workload import PENDING, Workload, WorkloadOrdering
from kschedweb.engine.queueing.workloads.workload_info import InfoFactory
from kschedweb.engine.queueing.world import CycleLog, KueueConfiguration, KueueWorld
from kschedweb.engine.values import dataclass

# 2026-01-15T12:00:00Z
DEFAULT_NOW = 1768478400.0
# Kinds of which workloads get their priorities.
_CLASS_KINDS = frozenset({"WorkloadPriorityClass", "PriorityClass"})


class QueueingError(ValueError):
    """A scenario cannot be run; the text tells where and why."""


@dataclass(frozen=True)
class HarnessOptions:
    """Options of a scenario for events that Kueue does not decide."""

    seconds_per_cycle: int
    # For how many cycles an evicted workload keeps its quota.
    eviction_cycles: int


@dataclass
class ConditionHistory:
    """The conditions that were told last."""

    last_conditions: dict[str, Conditions] = field(default_factory=dict)

    def list_changes(self, workloads: Iterable[Workload]) -> dict[str, list[Json]]:
        """Return by workload the conditions that changed since the last time."""
        changes: dict[str, list[Json]] = {}
        for workload in workloads:
            former = {condition.type: condition for condition in self.last_conditions.get(workload.key, ())}
            current = workload.status.conditions
            changed = [item for item in current if item.type not in former or former[item.type].content != item.content]
            removed = [kind for kind in former if find_condition(current, kind) is None]
            self.last_conditions[workload.key] = current
            if changed or removed:
                removed_conditions = [Condition(kind, False, "", status="removed") for kind in removed]
                changes[workload.key] = describe_conditions((*changed, *removed_conditions))
        return changes


def answer_scenario(raw: Json) -> Json:
    """Return what Kueue makes of a scenario; raise QueueingError if it cannot be read."""
    try:
        options = get_mapping(raw, "options")
        gates = parse_gates(get_string(options, "gates", "options."))
    except GateError as error:
        return {"name": get_string(raw, "name"), "error": str(error)}
    except ObjectError as error:
        raise QueueingError(str(error)) from None
    ordering = WorkloadOrdering(get_string(options, "requeuingTimestamp", "options.") != "Creation", gates)
    try:
        strategies = get_strings(options, "fairStrategies", "options.") or DEFAULT_STRATEGIES
        configuration = KueueConfiguration(
            gates,
            strategies if get_boolean(options, "fairSharing", "options.") else None,
            get_boolean(options, "waitForPodsReady", "options."),
            "QuotaCheckStrategy" in gates and get_string(options, "quotaCheckStrategy") == "IgnoreUndeclared",
            ordering,
        )
        factory = InfoFactory(read_request_options(options), gates)
        harness = HarnessOptions(
            max(get_integer(options, "secondsPerCycle", 1, "options."), 1),
            get_integer(options, "evictionCycles", path="options."),
        )
        now = get_time(raw, "now")
        world = KueueWorld(configuration, factory, DEFAULT_NOW if now is None else now)
        return ScenarioRun(raw, world, harness).answer()
    except (ObjectError, SelectorError) as error:
        raise QueueingError(str(error)) from None


class ScenarioRun:
    """A scenario that is being played."""

    def __init__(self, raw: Json, world: KueueWorld, harness: HarnessOptions) -> None:
        self._raw = raw
        self._world = world
        self._harness = harness
        self._store = ObjectStore(world)
        self._controllers = ControlLoop(world, harness.eviction_cycles)
        self._scheduler = QuotaScheduler(world, self._controllers.make_pods_ready)
        self._history = ConditionHistory()
        self._answer: Json = {"name": get_string(raw, "name")}

    def answer(self) -> Json:
        objects = get_objects(self._raw, "objects")
        for place, entry in enumerate(objects):
            try:
                self._add_refusals(entry)
            except ObjectError as error:
                raise ObjectError(f"objects[{place}] ({describe_object(entry)}): {error}") from None
        cycles = get_integer(self._raw, "cycles")
        if cycles == 0:
            return self._answer
        self._start(objects)
        self._play(cycles)
        snapshot = QueueingSnapshot(self._world.cache)
        self._answer.update(describe_tree(snapshot))
        self._answer["workloads"] = describe_workloads(self._world.list_workloads())
        return {key: value for key, value in self._answer.items() if value or key == "name"}

    def _add_refusals(self, raw: Json) -> None:
        refusals = find_object_refusals(raw, self._world.gates)
        if refusals:
            name = f"{get_namespace(raw)}/{get_name(raw)}".strip("/")
            self._answer.setdefault("invalid", {})[f"{get_string(raw, 'kind')} {name}"] = sorted(refusals)

    def _start(self, objects: list[Json]) -> None:
        """Take in all objects, kind by kind, each in the order of names."""
        world = self._world
        ordered = sorted(objects, key=lambda raw: f"{get_namespace(raw)}/{get_name(raw)}")
        for raw in objects:
            if get_string(raw, "kind") in _CLASS_KINDS:
                self._store.classes.add(raw)
        self._store.add_workloads(raw for raw in ordered if get_string(raw, "kind") == "Workload")
        for kind in START_ORDER:
            for raw in ordered:
                if get_string(raw, "kind") == kind:
                    self._store.start(raw)
        self._history.last_conditions = {
            workload.key: workload.status.conditions for workload in world.list_workloads()
        }
        inactive = {}
        for name in sorted(world.cluster_queues):
            readiness = world.cache.explain_readiness(name)
            if not readiness.is_active:
                condition = Condition("Active", False, readiness.reason, readiness.message)
                inactive[name] = condition.to_json()
        if inactive:
            self._answer["inactive"] = inactive
        self._controllers.settle(0)
        changes = self._history.list_changes(world.list_workloads())
        if changes:
            self._answer["start"] = changes

    # Cycles

    def _play(self, cycles: int) -> None:
        """Run cycles until nothing can happen any more."""
        events = get_objects(self._raw, "events")
        last_event = max((get_integer(event, "before") for event in events), default=0)
        described: list[Json] = []
        former: Json | None = None
        for number in range(1, cycles + 1):
            cycle = self._run_cycle(number)
            is_same = former is not None and {**former, "cycle": number} == cycle
            if is_same and number > last_event and not self._is_waiting():
                self._answer["repeats"] = True
                break
            # Of idle cycles in a row only the first is told.
            if not (is_same and cycle.get("idle")):
                described.append(cycle)
            former = cycle
        self._answer["cycles"] = described

    def _run_cycle(self, number: int) -> Json:
        world = self._world
        world.log = CycleLog()
        for event in get_objects(self._raw, "events"):
            if get_integer(event, "before") == number:
                # The controller looks at all of them again.
                self._controllers.reconcile_again()
                self._carry_out(event, number)
        self._controllers.settle(number)
        result = self._scheduler.run_cycle()
        # Before the evicted ones come back.
        places = {
            info.key: "inadmissible" if info.key in queue.inadmissible else "active"
            for queue in world.queues.queues.values()
            for info in queue.list_pending()
        }
        self._controllers.settle(number)
        changes = self._history.list_changes(world.list_workloads())
        described = describe_cycle(number, result, world, places, changes)
        world.now += self._harness.seconds_per_cycle
        world.queues.second_pass.advance(world.now, world.factory.create)
        return described

    def _is_waiting(self) -> bool:
        """Return True if something is due later: a back-off, the end of an eviction, a second pass."""
        if self._controllers.is_evicting or self._world.queues.second_pass.is_waiting:
            return True
        return any(
            workload.status.requeue_at is not None and workload.state == PENDING
            for workload in self._world.workloads.values()
        )

    # Events

    def _carry_out(self, event: Json, cycle: int) -> None:
        world = self._world
        if event.get("apply") is not None:
            self._add_refusals(get_mapping(event, "apply"))
            self._store.apply(get_mapping(event, "apply"))
            return
        check = get_mapping(event, "check")
        key = next((get_string(event, name) for name in ("finish", "podsReady", "delete") if event.get(name)), "")
        key = key or get_string(check, "workload", "check.")
        workload = world.workloads.get(key)
        if workload is None:
            name = key.partition("/")[2]
            error = f'event before cycle {cycle}: workloads.kueue.x-k8s.io "{name}" not found'
            self._answer.setdefault("error", error)
        elif event.get("finish"):
            self._controllers.finish(workload)
        elif event.get("podsReady"):
            self._controllers.set_pods_ready(workload)
        elif event.get("delete"):
            self._controllers.delete(workload)
        else:
            name, state = get_string(check, "check", "check."), get_string(check, "state", "check.")
            message = get_string(check, "message", "check.")
            world.update_status(set_check(workload, name, state, message, world.now))
