"""The world behind a sandbox's API server: it hears of every change, and does what is due in the cluster.

Everything that matters is in API objects. A world that is made of stored objects looks at each of them once, and goes
on where the one before it ended.
"""

from __future__ import annotations

import heapq
import math
from random import Random

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import ApiObjects
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.clock import Clock
from kschedweb.engine.sandbox.world.context import Controller, SandboxContext
from kschedweb.engine.sandbox.world.controllers import make_controllers
from kschedweb.engine.sandbox.world.happenings import Happenings
from kschedweb.engine.sandbox.world.index import ObjectIndex, all_objects
from kschedweb.engine.sandbox.world.recorder import EventRecorder
from kschedweb.engine.sandbox.world.usage import SandboxUsage
from kschedweb.engine.simulation.recording import UseRecording

# Real seconds between two times at which due work is done, at least.
QUANTUM = 0.1
# Seconds of the sandbox until a refused look is repeated, and one that failed.
RETRY_SECONDS, MUCH_LATER = 10.0, 600.0
# Real seconds.
TIDY_EVERY = 60.0
# Looks at objects in one go; more are done the next time.
MOST_AT_ONCE = 5000
# Writes in one go, so that requests are answered in between.
MOST_WRITES = 500
# (position of the controller, key of the object)
Look = tuple[int, Key]


class SandboxWorld:
    """Runs kubelets, controllers and happenings on the store of ``objects``, within ``advance``.

    ``seed`` decides what happens by itself. Pods use what a ``recording`` says; without one the curves of a table.
    """

    def __init__(
        self,
        objects: ApiObjects,
        *,
        seed: int = 20,
        random: Random | None = None,
        recording: UseRecording | None = None,
    ) -> None:
        self.clock = Clock(objects)
        self._index, self._recorder = ObjectIndex(objects.store), EventRecorder(objects)
        self._context = SandboxContext(objects, self._index, self._recorder, random or Random(seed))  # noqa: S311
        self._context.time = self.clock.pace.time_at(objects.clock())
        happenings = Happenings(self._context, self.clock, seed)
        self._controllers: list[Controller] = [*make_controllers(self._context), happenings]
        self._use = SandboxUsage(objects.store, seed, recording)
        # A set that keeps its order.
        self._dirty: dict[Look, None] = {}
        self._due: dict[Look, float] = {}
        # A heap of times and looks; an entry counts only while ``_due`` has the same time.
        self._agenda: list[tuple[float, Look]] = []
        self._tidied = self._advanced = objects.clock()
        version = objects.store.version
        for resource, raw in all_objects(objects.store):
            self._mark_dirty(StoreChange(version, resource, None, raw, raw))
        self._dirty[len(self._controllers) - 1, ("", "")] = None
        objects.store.add_listener(self.on_change)

    def on_change(self, change: StoreChange) -> None:
        """Note which objects to look at."""
        self.clock.on_change(change)
        self._index.on_change(change)
        self._recorder.on_change(change)
        self._mark_dirty(change)

    def _mark_dirty(self, change: StoreChange) -> None:
        for place, controller in enumerate(self._controllers):
            for key in controller.affected_keys(change):
                self._dirty[place, key] = None

    def advance(self, now: float) -> None:
        """Do what is due at ``now`` (seconds of the epoch)."""
        self._advanced = now
        time = self._context.time = self.clock.advance_to(now)
        while self._agenda and self._agenda[0][0] <= time:
            due, look = heapq.heappop(self._agenda)
            if self._due.get(look) == due:
                del self._due[look]
                self._dirty[look] = None
        store = self._context.store
        enough = store.version + MOST_WRITES
        for _ in range(MOST_AT_ONCE):
            if not self._dirty or store.version >= enough:
                break
            look = next(iter(self._dirty))
            del self._dirty[look]
            self._sync_object(look)
        if now >= self.clock.next_save:
            self.clock.save_time(now)
        if now >= self._tidied + TIDY_EVERY:
            self._tidied = now
            self._recorder.delete_old_events()

    def _sync_object(self, look: Look) -> None:
        """Have a controller look at an object. A failed look is repeated, since no change would ask for it."""
        try:
            retry_at = self._controllers[look[0]].sync(look[1])
        except ApiRefusal:
            self._schedule_look(look, self._context.time + RETRY_SECONDS)
        except Exception:
            self._schedule_look(look, self._context.time + MUCH_LATER)
            raise
        else:
            self._schedule_look(look, retry_at)

    def _schedule_look(self, look: Look, time: float | None) -> None:
        if time is None:
            self._due.pop(look, None)
        elif self._due.get(look) != time:
            self._due[look] = time
            heapq.heappush(self._agenda, (time, look))

    def next_time(self, now: float) -> float:
        """Return when to call ``advance`` again if nothing changes."""
        if self._dirty:
            return now
        due = self.clock.pace.real_time_at(self._agenda[0][0]) if self._agenda else math.inf
        return min(max(due, self._advanced + QUANTUM), self.clock.next_save, self._tidied + TIDY_EVERY)

    def list_metrics(self, plural: str, namespace: str) -> Json:
        """Return the list of metrics.k8s.io of ``nodes``, or of ``pods`` in a namespace ("" for all)."""
        objects = self._context.objects
        now = objects.clock()
        return self._use.list_metrics(plural, namespace, self.clock.pace.time_at(now), now)
