"""From a document to what a simulation is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kschedweb.engine.documents.leaves import Problem
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.simulation import Event, Settings, Start
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.watermarks.collected import Collected
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.document.document import Document, DocumentError, PartError
from kschedweb.engine.studies.document.parts import ALL, Trace
from kschedweb.engine.studies.prepare.arrivals import Arrivals
from kschedweb.engine.studies.prepare.changes import Changes
from kschedweb.engine.studies.prepare.cluster import Cluster, arrival
from kschedweb.engine.studies.prepare.use import KnownUse, use_of
from kschedweb.engine.studies.prepare.workloads import Workloads
from kschedweb.engine.studies.traces.files import Files, Lines


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that happens, the same for each policy. Times are seconds from the beginning, which is 0.

    ``objects`` are those at 0, pods among them only where they have a node; those that wait are ``events``, in the
    order of time. ``until`` is ``None`` for as long as something happens. ``use()`` makes what a run is told of real
    use: one for each, for it remembers what ran. ``watermarks`` are those at the beginning. ``notes`` says what was
    left out, or read in another way than it was written, with line and reason.
    """

    objects: list[Json]
    events: list[Event]
    until: float | None = None
    settings: Settings = field(default_factory=Settings)
    use: Callable[[], UseModel] | None = None
    watermarks: Watermarks | None = None
    seed: int = 0
    notes: list[str] = field(default_factory=list)

    @cached_property
    def start(self) -> Start:
        """The ``objects`` as each run begins with them."""
        return Start.read(self.objects)


def prepare(
    document: Document,
    objects: Sequence[Json],
    files: Mapping[str, Lines],
    *,
    seed: int,
    now: float,
    utilisation: Collected | Watermarks | None = None,
) -> Prepared:
    """What ``document`` makes of the ``objects`` of its base, as they were at ``now`` (seconds of the epoch).

    ``files`` are the files it names, as bytes (perhaps packed by gzip), pieces of bytes, or lines. ``utilisation`` is
    what nodes and workloads of the base really used at ``now``, or until then, where no file brings it. The same
    arguments give the same result. Raises DocumentError.
    """
    making = _Making(document, objects, files, seed=seed, now=now)
    making.arrive(recorded=True)  # A recording brings nodes and workloads, which changes may name.
    making.change()
    making.arrive(recorded=False)
    use = making.use(utilisation)
    run, cluster = document.run, making.cluster
    settings = Settings(cycle=run.cycle, sample=run.sample, controllers=run.controllers, replaced=run.place != ALL)
    return Prepared(
        objects=cluster.listed(),
        events=_events(cluster),
        until=run.until,
        settings=settings,
        use=use.make,
        watermarks=use.watermarks,
        seed=seed,
        notes=cluster.notes,
    )


class _Making:
    """One step after the other; each raises DocumentError with everything that it finds wrong."""

    def __init__(
        self, document: Document, objects: Sequence[Json], files: Mapping[str, Lines], *, seed: int, now: float
    ) -> None:
        self.document, self.seed, self.now = document, seed, now
        self.cluster = Cluster([*objects, *document.objects], document.run.place, now)
        self.files = Files(files, self.cluster.notes)
        self.workloads = Workloads(self.cluster)

    def change(self) -> None:
        changes, problems = Changes(self.cluster, self.workloads, self.files.nodes), []
        for change in sorted(self.document.changes, key=lambda one: one.at):
            try:
                changes.apply(change)
            except PartError as error:
                problems.append(error.problem(change.path))
        _raise(problems)
        changes.finish()

    def arrive(self, *, recorded: bool) -> None:
        arrivals, problems = Arrivals(self.cluster, self.workloads, self.files, self.seed), []
        for place, part in enumerate(self.document.arrivals):
            if (isinstance(part, Trace) and part.format == "records") == recorded:
                try:
                    arrivals.add(part, place, self.document.run.place)
                except PartError as error:
                    problems.append(error.problem(part.path))
        _raise(problems)

    def use(self, utilisation: Collected | Watermarks | None) -> KnownUse:
        try:
            return use_of(self.document, self.cluster, self.files, utilisation, seed=self.seed, now=self.now)
        except PartError as error:
            raise DocumentError([error.problem("use")]) from None


def _events(cluster: Cluster) -> list[Event]:
    waiting: list[Event] = []
    for key, raw in cluster.waiting.items():
        try:
            waiting.append(arrival(raw, 0.0))
        except ObjectError as problem:
            cluster.note(f"Pod {key}: is left out: {problem}")
    return sorted([*waiting, *cluster.events], key=lambda event: event.time)


def _raise(problems: list[Problem]) -> None:
    if problems:
        raise DocumentError(problems)
