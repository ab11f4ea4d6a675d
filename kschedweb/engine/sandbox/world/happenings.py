"""Happenings that keep a sandbox alive: Jobs come, Deployments grow and shrink, nodes fail.

A happening is drawn from the seed and the number of its slot of time alone, and named after the slot: to repeat it
after a restart changes nothing. What takes time is written into annotations, which people may set as well: silent-for
and maintenance-for of nodes, leaves-after of pods, scales ("4-12") of Deployments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.labels import is_queued
from kschedweb.engine.sandbox.eviction import evict_pod
from kschedweb.engine.sandbox.resources import CLOCK, NODE, POD
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world import use_curves
from kschedweb.engine.sandbox.world.catalogue import seeding, tables
from kschedweb.engine.sandbox.world.clock import Clock
from kschedweb.engine.sandbox.world.context import SandboxContext, get_annotation, get_annotation_time, own_annotations
from kschedweb.engine.sandbox.world.index import get_controller_of
from kschedweb.engine.sandbox.world.kubelets.nodes import is_silent
from kschedweb.engine.sandbox.world.pods import is_deleting, is_pod_terminal, parse_duration
from kschedweb.engine.sandbox.world.resources import DEPLOYMENT, JOB

# Seconds.
SLOT = 20.0
# Number of pods from which on nothing that creates pods happens; what is under way may add some more.
MOST_PODS = 360
# Slots that are made up for.
MISSED = 6
# Seconds until a pod is evicted again that its budget protected.
DRAIN_AGAIN = 10.0
SLOTS: Key = ("", "")
# How often each happens, in parts of all.
WEIGHTS = {
    "nothing": 26, "job": 18, "queued job": 10, "scale": 30, "misfit": 5, "rollout": 5, "silence": 3, "maintenance": 3,
}  # fmt: skip
# Queued Jobs that have not ended, from which on no other comes.
MOST_QUEUED = 44


class Happenings:
    """Makes things happen. Keys are those of the slots, of nodes (without a namespace), and of pods."""

    def __init__(self, context: SandboxContext, clock: Clock, seed: int) -> None:
        self._context, self._clock, self._seed = context, clock, seed
        # The number of the last slot that was done.
        self._done: int | None = None
        self._acts: dict[str, Callable[[Random, int], None]] = {
            "job": self._start_job,
            "queued job": self._queue_job,
            "scale": self._scale_deployment,
            "misfit": self._create_misfit,
            "rollout": self._roll_out,
            "silence": self._silence_node,
            "maintenance": self._start_maintenance,
        }

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is CLOCK:
            yield SLOTS
        elif change.new is not None and _takes_time(change.new):
            yield change.key

    def sync(self, key: Key) -> float | None:
        if key == SLOTS:
            return self._run_slots()
        return self._withdraw_pod(key) if key[0] else self._run_maintenance(key)

    # Slots.

    def _run_slots(self) -> float | None:
        if not self._clock.happenings_enabled:
            self._done = None
            return None
        slot = int(self._context.time // SLOT)
        first = slot if self._done is None else max(self._done + 1, slot - MISSED)
        for number in range(first, slot + 1):
            random = Random(f"{self._seed}/{number}")  # noqa: S311
            kind = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
            if kind in self._acts:
                self._acts[kind](random, number)
        self._done = slot
        return (slot + 1) * SLOT

    def _start_job(self, random: Random, slot: int) -> None:
        if self._context.index.count_pods() >= MOST_PODS:
            return
        kind = random.choice(tables.JOBS)
        raw = seeding.make_job(kind, f"{kind.name}-{slot}", random.randint(1, kind.pods), random.randint(*kind.minutes))
        self._create_object(JOB, kind.namespace, raw)

    def _queue_job(self, random: Random, slot: int) -> None:
        """Let a Job come that waits for quota."""
        if self._context.index.count_pods() >= MOST_PODS or self._count_queued() >= MOST_QUEUED:
            return
        namespace, raw = seeding.make_queued_job(random, random.choice(tables.QUEUED_JOBS), str(slot))
        self._create_object(JOB, namespace, raw)

    def _count_queued(self) -> int:
        return sum(
            is_queued(raw) and not (raw.get("status") or {}).get("completionTime")
            for raw in self._context.store.all(JOB)
        )

    def _create_misfit(self, random: Random, slot: int) -> None:
        kind = random.choice(tables.MISFITS)
        self._create_object(
            POD, kind.namespace, seeding.make_misfit(kind, f"{kind.name}-{slot}", random.randint(4, 12))
        )

    def _create_object(self, resource: object, namespace: str, raw: Json) -> None:
        """Create an object; it may exist already, or its namespace may be missing."""
        try:
            self._context.objects.create_object(resource, namespace, raw)  # type: ignore[arg-type]
        except ApiRefusal:
            return

    def _scale_deployment(self, random: Random, slot: int) -> None:
        """Scale a Deployment to what its hour asks for, give or take a few pods."""
        deployments = [
            raw
            for raw in self._context.store.all(DEPLOYMENT)
            if _scale_bounds(raw) is not None and not is_deleting(raw)
        ]
        if not deployments:
            return
        raw = random.choice(deployments)
        minimum, maximum = _scale_bounds(raw) or (1, 1)
        pattern = get_annotation(raw["spec"]["template"], "use") or ""
        busy = use_curves.peak_share(self._seed, pattern, self._context.time)
        replicas = round(minimum + (maximum - minimum) * busy + random.uniform(-1.5, 1.5))
        replicas = min(maximum, max(minimum, replicas))
        if replicas > raw["spec"]["replicas"] and self._context.index.count_pods() >= MOST_PODS:
            return
        self._replace_spec(raw, {**raw["spec"], "replicas": replicas})

    def _roll_out(self, random: Random, slot: int) -> None:
        """Give a Deployment another image."""
        deployments = [
            raw
            for raw in self._context.store.all(DEPLOYMENT)
            if _scale_bounds(raw) is not None and not is_deleting(raw)
        ]
        if not deployments:
            return
        raw = random.choice(deployments)
        template = raw["spec"]["template"]
        first, *other_containers = template["spec"]["containers"]
        name, _, tag = str(first["image"]).rpartition(":")
        image = f"{name}:{'.'.join([*tag.split('.')[:2], str(slot % 1000)])}"
        spec = {**template["spec"], "containers": [{**first, "image": image}, *other_containers]}
        self._replace_spec(raw, {**raw["spec"], "template": {**template, "spec": spec}})

    def _replace_spec(self, raw: Json, spec: Json) -> None:
        metadata = raw["metadata"]
        try:
            self._context.objects.replace_object(
                DEPLOYMENT, metadata["namespace"], metadata["name"], {**raw, "spec": spec}
            )
        except ApiRefusal:
            return

    def _silence_node(self, random: Random, slot: int) -> None:
        nodes = list(self._context.store.all(NODE))
        if any(is_silent(raw) for raw in nodes) or not nodes:
            return
        annotations = own_annotations(silent_for=f"{random.randint(3, 9)}m")
        self._context.annotate(NODE, random.choice(nodes), annotations=annotations)

    def _start_maintenance(self, random: Random, slot: int) -> None:
        nodes = list(self._context.store.all(NODE))
        if any(_is_in_maintenance(raw) for raw in nodes) or not nodes:
            return
        annotations = own_annotations(maintenance_for=f"{random.randint(8, 20)}m")
        self._context.annotate(NODE, random.choice(nodes), annotations=annotations)

    # Nodes under maintenance.

    def _run_maintenance(self, key: Key) -> float | None:
        """Cordon and drain a node for as long as it says, then let pods come again."""
        context = self._context
        raw = context.store.get(NODE, *key)
        if raw is None:
            return None
        text, end_time = get_annotation(raw, "maintenance-for"), get_annotation_time(raw, "maintenance-until")
        if text is not None:
            seconds = parse_duration(text)
            annotations = own_annotations(maintenance_for=None)
            if seconds is not None:
                end_time = context.time + seconds
                annotations |= own_annotations(maintenance_until=f"{end_time:.3f}")
            spec = raw["spec"] if seconds is None else {**raw["spec"], "unschedulable": True}
            raw = context.annotate(NODE, raw, annotations=annotations, spec=spec)
        if end_time is None:
            return None
        if context.time >= end_time:
            spec = {name: value for name, value in raw["spec"].items() if name != "unschedulable"}
            context.annotate(NODE, raw, annotations=own_annotations(maintenance_until=None), spec=spec)
            return None
        return min(end_time, context.time + DRAIN_AGAIN) if self._drain_node(key[1]) else end_time

    def _drain_node(self, node: str) -> bool:
        """Evict the pods of a node; returns true if some stay for now."""
        has_blocked = False
        for pod in self._context.index.pods_on_node(node):
            owner = get_controller_of(pod)
            if is_deleting(pod) or is_pod_terminal(pod) or (owner is not None and owner["kind"] == "DaemonSet"):
                continue
            try:
                evict_pod(self._context.objects, pod["metadata"]["namespace"], pod["metadata"]["name"], {})
            except ApiRefusal:
                has_blocked = True
        return has_blocked

    # Pods that are withdrawn.

    def _withdraw_pod(self, key: Key) -> float | None:
        context = self._context
        pod = context.store.get(POD, *key)
        if pod is None or is_deleting(pod):
            return None
        at = get_annotation_time(pod, "leaves-at")
        if at is None:
            seconds = parse_duration(get_annotation(pod, "leaves-after") or "")
            if seconds is None:
                return None
            at = context.time + seconds
            pod = context.annotate(POD, pod, annotations=own_annotations(leaves_at=f"{at:.3f}"))
        if context.time < at:
            return at
        context.delete_object(POD, pod)
        return None


def _scale_bounds(raw: Json) -> tuple[int, int] | None:
    """Return between how many replicas the Deployment is scaled; ``None`` if it is not."""
    minimum, _, maximum = (get_annotation(raw, "scales") or "").partition("-")
    bounds = whole_number(minimum), whole_number(maximum)
    return bounds if None not in bounds else None  # type: ignore[return-value]


def _takes_time(raw: Json) -> bool:
    """Return true for a node under maintenance, or a pod that will be withdrawn."""
    if raw["kind"] == NODE.kind:
        return _is_in_maintenance(raw)
    return raw["kind"] == POD.kind and get_annotation(raw, "leaves-after") is not None


def _is_in_maintenance(raw: Json) -> bool:
    return get_annotation(raw, "maintenance-for") is not None or get_annotation(raw, "maintenance-until") is not None
