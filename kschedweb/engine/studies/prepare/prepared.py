"""Prepare a simulation from a scenario document."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.resources import Counting
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.simulation import SimulationEvent, SimulationSettings, StartState
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.collected_watermarks import CollectedWatermarks
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.actors import list_modules
from kschedweb.engine.studies.actors.preparing import ScenarioActor
from kschedweb.engine.studies.document.document import PartError, ScenarioDocument, ScenarioError
from kschedweb.engine.studies.document.parts import (
    ALL,
    NONE,
    ScenarioChange,
    Trace,
)
from kschedweb.engine.studies.prepare.arrivals import Arrivals
from kschedweb.engine.studies.prepare.autoscaling import Autoscaling
from kschedweb.engine.studies.prepare.changes import Changes
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster, create_arrival
from kschedweb.engine.studies.prepare.use import KnownUse, use_of
from kschedweb.engine.studies.prepare.workloads import Workloads
from kschedweb.engine.studies.traces.files import Files, Lines
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, eq=False)
class PreparedScenario:
    """Everything that happens in a scenario, under any policy. Times are in seconds from the beginning."""

    # Objects at time 0, with bound pods only; pending pods arrive as events.
    objects: list[Json]
    # Events sorted by time.
    events: list[SimulationEvent]
    # Seconds at which a run ends; None: when nothing more happens.
    end: float | None = None
    settings: SimulationSettings = field(default_factory=SimulationSettings)
    # Makes the model of real use for one run: it depends on the pods that ran, so runs cannot share it.
    use: Callable[[], UseModel] | None = None
    # Measured use of nodes at time 0.
    watermarks: Watermarks | None = None
    seed: int = 0
    # What was left out or interpreted, with line and reason.
    notes: list[str] = field(default_factory=list)
    # Actors by their kind.
    actors: Mapping[str, ActorSetup] = field(default_factory=dict)
    # Prices of nodes; None if they are unknown.
    prices: PriceTable | None = None
    # Releases that parse objects alike share their parsed state, which takes long to build.
    _starts: dict[tuple[type[Snapshot], Counting], StartState] = field(default_factory=dict, init=False, repr=False)

    def list_actors(self) -> list[ActorSetup]:
        """Return the actors in the order in which they act."""
        return [self.actors[name] for name in _list_kinds() if name in self.actors]

    def start_state(self, release: Release) -> StartState:
        """Return the parsed ``objects`` with which runs of ``release`` begin; releases that parse alike share it."""
        if release.view not in self._starts:
            self._starts[release.view] = StartState.from_objects(self.objects, release, self.watermarks)
        return self._starts[release.view]


def prepare_scenario(
    document: ScenarioDocument,
    objects: Sequence[Json],
    files: Mapping[str, Lines],
    *,
    seed: int,
    now: float,
    utilisation: CollectedWatermarks | Watermarks | None = None,
) -> PreparedScenario:
    """Prepare ``document`` on the ``objects`` of its base as of ``now`` (seconds of the epoch).

    ``files`` are the files that it names, as bytes (possibly compressed with gzip), chunks of bytes, or lines.
    ``utilisation`` is the real use of the base's nodes and workloads at ``now`` or until then, unless a file has it.
    Equal arguments give equal results. Raises DocumentError.
    """
    making = _Preparation(document, objects, files, seed=seed, now=now)
    making.add_arrivals(recorded=True)  # Recordings come first: changes may name their nodes and workloads.
    making.apply_changes()
    making.add_arrivals(recorded=False)
    use = making.determine_use(utilisation)
    run, cluster = document.run, making.cluster
    settings = SimulationSettings(
        cycle=run.cycle,
        sample=run.sample,
        controllers=run.controllers,
        replaced=run.place != ALL,
        admission=run.admission,
    )
    prepared = PreparedScenario(
        objects=cluster.list_objects(),
        events=_sort_events(cluster),
        end=run.end,
        settings=settings,
        use=use.make,
        watermarks=use.watermarks,
        seed=seed,
        notes=cluster.notes,
        prices=document.prices,
    )
    for name in _list_kinds():
        prepared = with_actor(prepared, name, document.actors.get(name))
    return prepared


def with_actor(prepared: PreparedScenario, name: str, settings: Any) -> PreparedScenario:
    """Return the scenario with an actor of ``settings`` in place of any other of its kind, or without one.

    Raises ScenarioError.
    """
    part = _list_kinds()[name].prepare(prepared.objects, settings)
    others = {other: setup for other, setup in prepared.actors.items() if other != name}
    actors = others if part.setup is None else {**others, name: part.setup}
    notes = [*prepared.notes, *(note for note in part.notes if note not in prepared.notes)]
    return replace(prepared, objects=part.objects, notes=notes, actors=actors)


@cache
def _list_kinds() -> dict[str, ScenarioActor]:
    """Return the kinds of actors by name, in the order in which they act."""
    return {module.ACTOR.name: module.ACTOR for module in list_modules("setup")}


class _Preparation:
    """The steps of ``prepare_scenario``; each raises DocumentError with all problems that it finds."""

    def __init__(
        self, document: ScenarioDocument, objects: Sequence[Json], files: Mapping[str, Lines], *, seed: int, now: float
    ) -> None:
        self.document, self.seed, self.now = document, seed, now
        self.cluster = ScenarioCluster([*objects, *document.objects], document.run.place, now, document.run.admission)
        self.files = Files(files, self.cluster.notes)
        self.workloads = Workloads(self.cluster)

    def apply_changes(self) -> None:
        autoscaling = Autoscaling(self.cluster, self.workloads, measured=self.document.use.source != NONE)
        changes = Changes(self.cluster, self.workloads, self.files.read_nodes, autoscaling)
        problems: list[DocumentProblem] = []
        # Sorting is stable, so changes of one time apply in the order of the document.
        later = sorted(self.document.changes, key=lambda change: change.at)
        first = [change for change in later if change.at == 0.0]
        for change in first:
            self._apply_change(changes, change, problems)
        if self.document.run.controllers:
            # Autoscalers of changes at time 0 take precedence over those among the objects.
            autoscaling.follow_autoscalers()
        for change in later[len(first) :]:
            self._apply_change(changes, change, problems)
        _raise_problems(problems)
        changes.finish_changes()

    @staticmethod
    def _apply_change(changes: Changes, change: ScenarioChange, problems: list[DocumentProblem]) -> None:
        try:
            changes.apply_change(change)
        except PartError as error:
            problems.append(error.problem_at(change.path))

    def add_arrivals(self, *, recorded: bool) -> None:
        arrivals, problems = Arrivals(self.cluster, self.workloads, self.files, self.seed), []
        for place, part in enumerate(self.document.arrivals):
            if (isinstance(part, Trace) and part.format == "records") == recorded:
                try:
                    arrivals.add_part(part, place, self.document.run.place)
                except PartError as error:
                    problems.append(error.problem_at(part.path))
        _raise_problems(problems)

    def determine_use(self, utilisation: CollectedWatermarks | Watermarks | None) -> KnownUse:
        try:
            return use_of(self.document, self.cluster, self.files, utilisation, seed=self.seed, now=self.now)
        except PartError as error:
            raise ScenarioError([error.problem_at("use")]) from None


def _sort_events(cluster: ScenarioCluster) -> list[SimulationEvent]:
    waiting: list[SimulationEvent] = []
    for key, raw in cluster.waiting.items():
        try:
            waiting.append(create_arrival(raw, 0.0))
        except ObjectError as problem:
            cluster.add_note(f"Pod {key}: is left out: {problem}")
    return sorted([*waiting, *cluster.events], key=lambda event: event.time)


def _raise_problems(problems: list[DocumentProblem]) -> None:
    if problems:
        raise ScenarioError(problems)
