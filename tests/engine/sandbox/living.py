"""A sandbox without a network or a clock: time passes when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kschedweb.engine import releases
from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.apiserver import ApiServer
from kschedweb.engine.sandbox.clock_validation import NAME
from kschedweb.engine.sandbox.requests import ApiResponse, Request, Watch
from kschedweb.engine.sandbox.resources import CLOCK, NAMESPACE, NODE, POD, RESOURCES, Resource
from kschedweb.engine.sandbox.store import Store, StoreChange
from kschedweb.engine.sandbox.world import SandboxWorld, admission, load_catalogue
from kschedweb.engine.sandbox.world.scheduler import StockScheduler
from kschedweb.engine.simulation.recording import UseRecording

START = 1_790_000_000.0
PLAIN = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def profiles(*names: str) -> str:
    """The configuration of a scheduler with these profiles."""
    return PLAIN + "profiles:\n" + "".join(f"- schedulerName: {name}\n" for name in names)


class Living:
    """A world, its API server, and a stock scheduler for ``schedulers``; ``quiet``: nothing happens by itself."""

    def __init__(
        self,
        *,
        schedulers: tuple[str, ...] = ("default-scheduler",),
        seed: int = 20,
        quiet: bool = True,
        catalogue: bool = False,
        recording: UseRecording | None = None,
    ) -> None:
        self.now, self.seed, self.schedulers, self.recording = START, seed, schedulers, recording
        self.store = Store()
        self._live()
        if catalogue:
            load_catalogue(self.objects)
            self.merge(CLOCK, NAME, {"spec": {"happenings": not quiet}})
            return
        self.create(NAMESPACE, {"metadata": {"name": "default"}})
        self.create(CLOCK, {"metadata": {"name": NAME}, "spec": {"speed": 1, "happenings": not quiet}})
        self.turn()

    def _live(self) -> None:
        self.random = Random(f"{self.seed}/{self.store.version}")
        self.objects = ApiObjects(self.store, lambda: self.now, self.random, admission(self.store))
        self.world = SandboxWorld(self.objects, seed=self.seed, recording=self.recording)
        self.api = ApiServer(self.objects, self.world.list_metrics)
        self.scheduler: StockScheduler | None = None
        if self.schedulers:
            configuration = releases.load(profiles(*self.schedulers)).configuration
            assert configuration is not None
            self.scheduler = StockScheduler(configuration)
            self.scheduler.load_store(self.store, self.now)
            self.store.add_listener(self._heard)

    def _heard(self, change: StoreChange) -> None:
        assert self.scheduler is not None
        self.scheduler.on_change(change, self.now)

    def restart(self) -> None:
        """All but the stored objects is lost."""
        old_store, self.store = self.store, Store(self.store.version)
        self.store.load_objects(
            [(resource, raw) for resource in RESOURCES if not resource.store for raw in old_store.all(resource)]
        )
        self._live()

    def create(self, resource: Resource, raw: Json, namespace: str = "default") -> Json:
        return self.objects.create_object(resource, namespace if resource.namespaced else "", raw)

    def get(self, resource: Resource, name: str, namespace: str = "default") -> Json:
        return self.objects.get_object(resource, namespace if resource.namespaced else "", name)

    def all(self, resource: Resource) -> list[Json]:
        return list(self.store.all(resource))

    def merge(self, resource: Resource, name: str, patch: Json, namespace: str = "default") -> Json:
        place = namespace if resource.namespaced else ""
        return self.objects.patch_object(resource, place, name, patch, "application/merge-patch+json")

    def delete(self, resource: Resource, name: str, namespace: str = "default") -> None:
        self.objects.delete_object(resource, namespace if resource.namespaced else "", name, {})

    def node(self, name: str, cpu: int = 8, zone: str = "a", **more: Json) -> Json:
        capacity = {"cpu": str(cpu), "memory": "32Gi", "pods": "110"}
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
        raw: Json = {"metadata": {"name": name, "labels": labels}, "status": {"capacity": capacity}, **more}
        return self.create(NODE, raw)

    def call(self, request: Request) -> ApiResponse | Watch:
        return self.api.handle(request)

    def turn(self) -> None:
        """Do what is due now, until nothing more is."""
        while True:
            due = self.world.next_time(self.now)
            if due <= self.now:
                self.world.advance(self.now)
                continue
            scheduler_due = None if self.scheduler is None else self.scheduler.next_time(self.now)
            if self.scheduler is None or scheduler_due is None or scheduler_due > self.now:
                return
            self.scheduler.run(self.call, self.now)

    def next_time(self, limit: float) -> float:
        scheduler_due = None if self.scheduler is None else self.scheduler.next_time(self.now)
        return min(limit, self.world.next_time(self.now), limit if scheduler_due is None else scheduler_due)

    def live(self, seconds: float) -> None:
        """Let so many real seconds pass."""
        deadline = self.now + seconds
        self.turn()
        while self.now < deadline:
            self.now = max(self.next_time(deadline), self.now + 0.001)
            self.turn()

    def wait_until(self, holds: Callable[[], bool], timeout: float = 600.0) -> None:
        """Let time pass until ``holds``; fails after ``most`` real seconds."""
        end = self.now + timeout
        self.turn()
        while not holds():
            assert self.now < end, "it never came to be"
            self.now = max(self.next_time(end), self.now + 0.001)
            self.turn()

    def reasons(self, resource: Resource, name: str) -> list[str]:
        """The reasons of the events about an object."""
        events = self.all(EVENT)
        object_events = [
            raw
            for raw in events
            if (raw["involvedObject"]["kind"], raw["involvedObject"]["name"]) == (resource.kind, name)
        ]
        return [raw["reason"] for raw in sorted(object_events, key=lambda raw: int(raw["metadata"]["resourceVersion"]))]


EVENT = next(resource for resource in RESOURCES if resource.kind == "Event")


def pod(name: str, cpu: str = "100m", **spec: object) -> Json:
    container = {"name": "main", "image": "example.com/main:1.0", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": [container], **spec}}


def workload(name: str, replicas: int | None = 1, *, cpu: str = "100m", **spec: object) -> Json:
    """A controller's object whose pods have the label app=``name``."""
    template = {"metadata": {"labels": {"app": name}}, "spec": pod(name, cpu)["spec"]}
    size = {} if replicas is None else {"replicas": replicas}
    selector = {"matchLabels": {"app": name}}
    return {"metadata": {"name": name}, "spec": {"selector": selector, "template": template, **size, **spec}}


def phases(living: Living) -> dict[str, str]:
    return {raw["metadata"]["name"]: raw["status"]["phase"] for raw in living.all(POD)}
