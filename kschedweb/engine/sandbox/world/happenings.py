"""What happens in a sandbox by itself, so that it lives: jobs come, deployments grow and shrink, nodes fail.

What happens in a slot of time is drawn from the seed and the slot's number alone, and is named after it: doing it again
after a restart changes nothing. What takes time stands in annotations, which a person may set as well: silent-for and
maintenance-for of nodes, leaves-after of pods, scales ("4-12") of deployments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.eviction import evict
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.resources import CLOCK, NODE, POD
from kschedweb.engine.sandbox.selection import whole_number
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world import curves
from kschedweb.engine.sandbox.world.catalogue import making, tables
from kschedweb.engine.sandbox.world.clock import Clock
from kschedweb.engine.sandbox.world.context import Context, annotation, own, time_in
from kschedweb.engine.sandbox.world.index import controller_of
from kschedweb.engine.sandbox.world.kubelets.nodes import silent
from kschedweb.engine.sandbox.world.pods import duration, ended, leaving
from kschedweb.engine.sandbox.world.resources import DEPLOYMENT, JOB

SLOT = 20.0  # seconds
MOST_PODS = 360  # nothing that makes pods happens beyond; what is under way may add some more
MISSED = 6  # slots that are made up for
DRAIN_AGAIN = 10.0  # seconds until a pod is evicted again that its budget kept
SLOTS: Key = ("", "")
# How often each happens, in parts of all.
WEIGHTS = {"nothing": 20, "job": 34, "scale": 30, "misfit": 5, "rollout": 5, "silence": 3, "maintenance": 3}


class Happenings:
    """Keys: the slots; nodes, which have no namespace; pods."""

    def __init__(self, context: Context, clock: Clock, seed: int) -> None:
        self._context, self._clock, self._seed = context, clock, seed
        self._done: int | None = None  # the last slot
        self._acts: dict[str, Callable[[Random, int], None]] = {
            "job": self._job, "scale": self._scale, "misfit": self._misfit, "rollout": self._roll_out,
            "silence": self._silence, "maintenance": self._maintain,
        }  # fmt: skip

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is CLOCK:
            yield SLOTS
        elif change.new is not None and _takes_time(change.new):
            yield change.key

    def sync(self, key: Key) -> float | None:
        if key == SLOTS:
            return self._slots()
        return self._withdraw(key) if key[0] else self._keep_up(key)

    # Slots.

    def _slots(self) -> float | None:
        if not self._clock.happenings:
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

    def _job(self, random: Random, slot: int) -> None:
        if self._context.index.count() >= MOST_PODS:
            return
        kind = random.choice(tables.JOBS)
        raw = making.job(kind, f"{kind.name}-{slot}", random.randint(1, kind.pods), random.randint(*kind.minutes))
        self._make(JOB, kind.namespace, raw)

    def _misfit(self, random: Random, slot: int) -> None:
        kind = random.choice(tables.MISFITS)
        self._make(POD, kind.namespace, making.misfit(kind, f"{kind.name}-{slot}", random.randint(4, 12)))

    def _make(self, resource: object, namespace: str, raw: Json) -> None:
        """Make an object; that it is there already, or that its namespace is not, is no failure."""
        try:
            self._context.objects.create(resource, namespace, raw)  # type: ignore[arg-type]
        except Refusal:
            return

    def _scale(self, random: Random, slot: int) -> None:
        """A deployment gets as many pods as its hour asks for, and a few more or less."""
        found = [raw for raw in self._context.store.all(DEPLOYMENT) if _scales(raw) is not None and not leaving(raw)]
        if not found:
            return
        raw = random.choice(found)
        least, most = _scales(raw) or (1, 1)
        pattern = annotation(raw["spec"]["template"], "use") or ""
        busy = curves.load(self._seed, pattern, self._context.time)
        wanted = round(least + (most - least) * busy + random.uniform(-1.5, 1.5))
        wanted = min(most, max(least, wanted))
        if wanted > raw["spec"]["replicas"] and self._context.index.count() >= MOST_PODS:
            return
        self._write(raw, {**raw["spec"], "replicas": wanted})

    def _roll_out(self, random: Random, slot: int) -> None:
        """A deployment gets another image."""
        found = [raw for raw in self._context.store.all(DEPLOYMENT) if _scales(raw) is not None and not leaving(raw)]
        if not found:
            return
        raw = random.choice(found)
        template = raw["spec"]["template"]
        first, *others = template["spec"]["containers"]
        name, _, tag = str(first["image"]).rpartition(":")
        image = f"{name}:{'.'.join([*tag.split('.')[:2], str(slot % 1000)])}"
        spec = {**template["spec"], "containers": [{**first, "image": image}, *others]}
        self._write(raw, {**raw["spec"], "template": {**template, "spec": spec}})

    def _write(self, raw: Json, spec: Json) -> None:
        metadata = raw["metadata"]
        try:
            self._context.objects.replace(DEPLOYMENT, metadata["namespace"], metadata["name"], {**raw, "spec": spec})
        except Refusal:
            return

    def _silence(self, random: Random, slot: int) -> None:
        nodes = list(self._context.store.all(NODE))
        if any(silent(raw) for raw in nodes) or not nodes:
            return
        said = own(silent_for=f"{random.randint(3, 9)}m")
        self._context.annotate(NODE, random.choice(nodes), annotations=said)

    def _maintain(self, random: Random, slot: int) -> None:
        nodes = list(self._context.store.all(NODE))
        if any(_maintained(raw) for raw in nodes) or not nodes:
            return
        said = own(maintenance_for=f"{random.randint(8, 20)}m")
        self._context.annotate(NODE, random.choice(nodes), annotations=said)

    # Nodes under maintenance.

    def _keep_up(self, key: Key) -> float | None:
        """Cordon and drain a node for as long as it says, then let pods come again."""
        context = self._context
        raw = context.store.get(NODE, *key)
        if raw is None:
            return None
        text, until = annotation(raw, "maintenance-for"), time_in(raw, "maintenance-until")
        if text is not None:
            seconds = duration(text)
            said = own(maintenance_for=None)
            if seconds is not None:
                until = context.time + seconds
                said |= own(maintenance_until=f"{until:.3f}")
            spec = raw["spec"] if seconds is None else {**raw["spec"], "unschedulable": True}
            raw = context.annotate(NODE, raw, annotations=said, spec=spec)
        if until is None:
            return None
        if context.time >= until:
            spec = {name: value for name, value in raw["spec"].items() if name != "unschedulable"}
            context.annotate(NODE, raw, annotations=own(maintenance_until=None), spec=spec)
            return None
        return min(until, context.time + DRAIN_AGAIN) if self._drain(key[1]) else until

    def _drain(self, node: str) -> bool:
        """Evict the pods of a node; whether some stay for now."""
        left = False
        for pod in self._context.index.pods_on(node):
            owner = controller_of(pod)
            if leaving(pod) or ended(pod) or (owner is not None and owner["kind"] == "DaemonSet"):
                continue
            try:
                evict(self._context.objects, pod["metadata"]["namespace"], pod["metadata"]["name"], {})
            except Refusal:
                left = True
        return left

    # Pods that are withdrawn.

    def _withdraw(self, key: Key) -> float | None:
        context = self._context
        pod = context.store.get(POD, *key)
        if pod is None or leaving(pod):
            return None
        at = time_in(pod, "leaves-at")
        if at is None:
            seconds = duration(annotation(pod, "leaves-after") or "")
            if seconds is None:
                return None
            at = context.time + seconds
            pod = context.annotate(POD, pod, annotations=own(leaves_at=f"{at:.3f}"))
        if context.time < at:
            return at
        context.delete(POD, pod)
        return None


def _scales(raw: Json) -> tuple[int, int] | None:
    """Between how many replicas the deployment is scaled."""
    least, _, most = (annotation(raw, "scales") or "").partition("-")
    bounds = whole_number(least), whole_number(most)
    return bounds if None not in bounds else None  # type: ignore[return-value]


def _takes_time(raw: Json) -> bool:
    """Whether it is a node under maintenance, or a pod that is withdrawn."""
    if raw["kind"] == NODE.kind:
        return _maintained(raw)
    return raw["kind"] == POD.kind and annotation(raw, "leaves-after") is not None


def _maintained(raw: Json) -> bool:
    return annotation(raw, "maintenance-for") is not None or annotation(raw, "maintenance-until") is not None
