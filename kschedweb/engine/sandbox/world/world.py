"""The world behind a sandbox's API server: it hears of every change, and does what is due in the cluster.

What matters stands in API objects alone. A world that is made of stored objects looks at each of them once, and goes on
where the one before it ended.
"""

from __future__ import annotations

import heapq
import math
from random import Random

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.objects import Objects
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.clock import Clock
from kschedweb.engine.sandbox.world.context import Context, Controller
from kschedweb.engine.sandbox.world.controllers import controllers
from kschedweb.engine.sandbox.world.happenings import Happenings
from kschedweb.engine.sandbox.world.index import Index, everything
from kschedweb.engine.sandbox.world.recorder import Recorder
from kschedweb.engine.sandbox.world.use import Use
from kschedweb.engine.simulation.recording import Recording

QUANTUM = 0.1  # real seconds: what is due by time is done at most as often
AGAIN, MUCH_LATER = 10.0, 600.0  # seconds of the sandbox until what was refused, or failed, is tried again
TIDY_EVERY = 60.0  # real seconds
MOST_AT_ONCE = 5000  # looks at objects in one go: more are done the next time
MOST_WRITES = 500  # in one go, so that requests are answered meanwhile
Look = tuple[int, Key]  # which controller, which object


class World:
    """Listens to the store of ``objects``; whatever it does itself it does within ``advance``.

    ``seed`` decides what happens by itself. Pods use what a ``recording`` says; without one the curves of a table.
    """

    def __init__(
        self, objects: Objects, *, seed: int = 20, random: Random | None = None, recording: Recording | None = None
    ) -> None:
        self.clock = Clock(objects)
        self._index, self._recorder = Index(objects.store), Recorder(objects)
        self._context = Context(objects, self._index, self._recorder, random or Random(seed))  # noqa: S311
        self._context.time = self.clock.pace.time_at(objects.clock())
        happenings = Happenings(self._context, self.clock, seed)
        self._controllers: list[Controller] = [*controllers(self._context), happenings]
        self._use = Use(objects.store, seed, recording)
        self._dirty: dict[Look, None] = {}  # a set that keeps its order
        self._due: dict[Look, float] = {}
        self._agenda: list[tuple[float, Look]] = []
        self._tidied = self._advanced = objects.clock()
        version = objects.store.version
        for resource, raw in everything(objects.store):
            self._mark(Change(version, resource, None, raw, raw))
        self._dirty[len(self._controllers) - 1, ("", "")] = None
        objects.store.listen(self.hear)

    def hear(self, change: Change) -> None:
        """Note what is to be looked at."""
        self.clock.hear(change)
        self._index.hear(change)
        self._recorder.hear(change)
        self._mark(change)

    def _mark(self, change: Change) -> None:
        for place, controller in enumerate(self._controllers):
            for key in controller.heard(change):
                self._dirty[place, key] = None

    def advance(self, now: float) -> None:
        """Do what is due at ``now`` (seconds of the epoch)."""
        self._advanced = now
        time = self._context.time = self.clock.look(now)
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
            self._look(look)
        if now >= self.clock.next_save:
            self.clock.save(now)
        if now >= self._tidied + TIDY_EVERY:
            self._tidied = now
            self._recorder.tidy()

    def _look(self, look: Look) -> None:
        """Have a controller look at an object. What fails is tried again: nobody else will ask for it."""
        try:
            again = self._controllers[look[0]].sync(look[1])
        except Refusal:
            self._plan(look, self._context.time + AGAIN)
        except Exception:
            self._plan(look, self._context.time + MUCH_LATER)
            raise
        else:
            self._plan(look, again)

    def _plan(self, look: Look, time: float | None) -> None:
        if time is None:
            self._due.pop(look, None)
        elif self._due.get(look) != time:
            self._due[look] = time
            heapq.heappush(self._agenda, (time, look))

    def next_time(self, now: float) -> float:
        """When to call ``advance`` again if nothing changes."""
        if self._dirty:
            return now
        due = self.clock.pace.real(self._agenda[0][0]) if self._agenda else math.inf
        return min(max(due, self._advanced + QUANTUM), self.clock.next_save, self._tidied + TIDY_EVERY)

    def metrics(self, what: str, namespace: str) -> Json:
        """metrics.k8s.io: the list of ``nodes``, or of ``pods`` in a namespace ("" for all)."""
        objects = self._context.objects
        now = objects.clock()
        return self._use.metrics(what, namespace, self.clock.pace.time_at(now), now)
