"""Prepares a simulation from a scenario document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from kschedweb.engine.config import Release
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.resources import Counting
from kschedweb.engine.pricing.table import PriceTable
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.simulation import Event, Settings, Start
from kschedweb.engine.simulation.autoscaling.hands import AutoscalerSetup
from kschedweb.engine.simulation.descheduling import DeschedulerSetup
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.collected import Collected
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.document.document import Document, DocumentError, PartError
from kschedweb.engine.studies.document.parts import ALL, NONE, AutoscalerOf, DeschedulerOf, ScenarioChange, Trace
from kschedweb.engine.studies.prepare.arrivals import Arrivals
from kschedweb.engine.studies.prepare.autoscaling import Autoscaling
from kschedweb.engine.studies.prepare.changes import Changes
from kschedweb.engine.studies.prepare.cluster import Cluster, arrival
from kschedweb.engine.studies.prepare.nodes import setup_of
from kschedweb.engine.studies.prepare.use import KnownUse, use_of
from kschedweb.engine.studies.prepare.workloads import Workloads
from kschedweb.engine.studies.traces.files import Files, Lines
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that happens in a scenario, under any policy. Times are in seconds from the beginning.

    ``objects`` are those at 0, with bound pods only; pending pods are ``events``, which are sorted by time. With
    ``until`` ``None``, a run lasts until nothing more happens. ``use()`` makes a new source of real use for a run,
    because the source depends on the pods that ran. ``watermarks`` are those at the beginning. ``notes`` says what was
    left out or interpreted, with line and reason. ``prices`` are what nodes cost, ``None`` where nobody says it.
    """

    objects: list[Json]
    events: list[Event]
    until: float | None = None
    settings: Settings = field(default_factory=Settings)
    use: Callable[[], UseModel] | None = None
    watermarks: Watermarks | None = None
    seed: int = 0
    notes: list[str] = field(default_factory=list)
    autoscaler: AutoscalerSetup | None = None
    descheduler: DeschedulerSetup | None = None
    prices: PriceTable | None = None
    _starts: dict[tuple[type[Snapshot], Counting], Start] = field(default_factory=dict, init=False, repr=False)

    def start(self, release: Release) -> Start:
        """The ``objects`` at the beginning of each run of a release that sees them like this one."""
        if release.view not in self._starts:
            self._starts[release.view] = Start.read(self.objects, release)
        return self._starts[release.view]


def prepare(
    document: Document,
    objects: Sequence[Json],
    files: Mapping[str, Lines],
    *,
    seed: int,
    now: float,
    utilisation: Collected | Watermarks | None = None,
) -> Prepared:
    """Prepare ``document`` on the ``objects`` of its base as of ``now`` (seconds of the epoch).

    ``files`` are the files that it names, as bytes (possibly compressed with gzip), chunks of bytes, or lines.
    ``utilisation`` is the real use of the base's nodes and workloads at ``now`` or until then, unless a file has it.
    Equal arguments give equal results. Raises DocumentError.
    """
    making = _Making(document, objects, files, seed=seed, now=now)
    making.arrive(recorded=True)  # Recordings come first: changes may name their nodes and workloads.
    making.change()
    making.arrive(recorded=False)
    use = making.use(utilisation)
    run, cluster = document.run, making.cluster
    settings = Settings(
        cycle=run.cycle,
        sample=run.sample,
        controllers=run.controllers,
        replaced=run.place != ALL,
        admission=run.admission,
    )
    prepared = Prepared(
        objects=cluster.listed(),
        events=_events(cluster),
        until=run.until,
        settings=settings,
        use=use.make,
        watermarks=use.watermarks,
        seed=seed,
        notes=cluster.notes,
        prices=document.prices,
    )
    if document.autoscaler is not None:
        prepared = autoscaled(prepared, document.autoscaler)
    return descheduled(prepared, document.descheduler)


def autoscaled(prepared: Prepared, of: AutoscalerOf) -> Prepared:
    """The scenario with this autoscaler, in place of any other one."""
    objects, notes, setup = setup_of(prepared.objects, of)
    return replace(prepared, objects=objects, notes=[*prepared.notes, *notes], autoscaler=setup)


def descheduled(prepared: Prepared, of: DeschedulerOf | None) -> Prepared:
    """The scenario with this descheduler, or without one, in place of any other; raises DocumentError."""
    if of is None:
        return replace(prepared, descheduler=None)
    try:
        return replace(prepared, descheduler=DeschedulerSetup.of(of.policy, prepared.objects, of.every))
    except PolicyRefused as refused:
        path = "descheduler.policy"
        problems = [DocumentProblem(f"{path}.{one.path}".rstrip("."), one.text) for one in refused.problems]
        raise DocumentError(problems) from None


class _Making:
    """The steps of ``prepare``; each raises DocumentError with all problems that it finds."""

    def __init__(
        self, document: Document, objects: Sequence[Json], files: Mapping[str, Lines], *, seed: int, now: float
    ) -> None:
        self.document, self.seed, self.now = document, seed, now
        self.cluster = Cluster([*objects, *document.objects], document.run.place, now, document.run.admission)
        self.files = Files(files, self.cluster.notes)
        self.workloads = Workloads(self.cluster)

    def change(self) -> None:
        autoscaling = Autoscaling(self.cluster, self.workloads, measured=self.document.use.source != NONE)
        changes = Changes(self.cluster, self.workloads, self.files.nodes, autoscaling)
        problems: list[DocumentProblem] = []
        later = sorted(self.document.changes, key=lambda one: one.at)
        first = [change for change in later if change.at == 0.0]
        for change in first:
            self._apply(changes, change, problems)
        if self.document.run.controllers:
            autoscaling.follow()
        for change in later[len(first) :]:
            self._apply(changes, change, problems)
        _raise(problems)
        changes.finish()

    @staticmethod
    def _apply(changes: Changes, change: ScenarioChange, problems: list[DocumentProblem]) -> None:
        try:
            changes.apply(change)
        except PartError as error:
            problems.append(error.problem(change.path))

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


def _raise(problems: list[DocumentProblem]) -> None:
    if problems:
        raise DocumentError(problems)
