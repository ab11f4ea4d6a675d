"""What a change of a policy does to a cluster: the scenario played under the current and under the changed policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.documents.leaves import DocumentProblem
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation import PodArrives, SimulationError
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.compare.comparison import Comparison, compare
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.gate.gate import Progress
from kschedweb.engine.studies.measure.measured import Measure
from kschedweb.engine.studies.measure.measures import measure, measure_of
from kschedweb.engine.studies.measure.occupancy import empty_nodes
from kschedweb.engine.studies.measure.registry import find_spec, get_spec
from kschedweb.engine.studies.moves.standing import Spread
from kschedweb.engine.studies.play.outcome import Kind, NodeState, Outcome
from kschedweb.engine.studies.play.recorder import Progress as Heard
from kschedweb.engine.studies.play.run import run
from kschedweb.engine.studies.play.successors import last_node
from kschedweb.engine.studies.prepare.prepared import Prepared
from kschedweb.engine.values import dataclass

GAINED, LOST, MOVED = "gained", "lost", "moved"
SIDES = ("current", "changed")


@dataclass(frozen=True)
class Both:
    """A scenario under the ``current`` and the ``changed`` policy, and how the two outcomes differ.

    The pods ``beside`` them ("namespace/name") are not asked about: they had a node, and may be evicted.
    """

    prepared: Prepared
    current: Outcome
    changed: Outcome
    comparison: Comparison
    beside: frozenset[str] = frozenset()

    @cached_property
    def pods(self) -> dict[str, dict[str, str]]:
        """The pods for which a node was looked for, with their last nodes under either policy, "" for none."""
        return {
            pair.pod: {"current": last_node(self.current, pair.before), "changed": last_node(self.changed, pair.after)}
            for pair in self.comparison.pairs.listed
            if pair.pod not in self.beside
        }

    @property
    def counts(self) -> dict[str, Any]:
        """How many ``pods`` there are, how many of them are ``placed``, and what the change does to them.

        ``evicted`` are the pods that had to make room.
        """
        kinds = Counter(one["what"] for one in self.changes)
        plugins = Counter(one["plugin"] for one in self.changes if one["what"] == MOVED)
        return {
            "pods": len(self.pods),
            "placed": {side: sum(bool(nodes[side]) for nodes in self.pods.values()) for side in SIDES},
            "evicted": self._sides(lambda outcome: int((outcome.forced.kind == Kind.PREEMPTED).sum())),
            **{what: kinds[what] for what in (GAINED, LOST, MOVED)},
            "by_plugin": [{"plugin": name, "pods": pods} for name, pods in plugins.most_common()],
        }

    @cached_property
    def changes(self) -> list[dict[str, Any]]:
        """The pods of ``pods`` that end elsewhere, as plain data: ``what`` became of each, its nodes, and why.

        ``current_pod`` and ``changed_pod`` took its place and have these nodes; "" is the pod itself.
        """
        found, listed = self.comparison, []
        for what, changes in ((GAINED, found.newly_scheduled), (LOST, found.newly_unscheduled), (MOVED, found.moved)):
            for one in changes:
                if one.pod not in self.beside:
                    told: dict[str, Any] = {"pod": one.pod, "what": what, **self.pods[one.pod]}
                    why = {"plugin": one.plugin, "lead": one.lead, "said": one.said, "follows": one.follows}
                    who = {"current_pod": one.before_pod, "changed_pod": one.after_pod}
                    listed.append({**told, **why, **who})
        return listed

    def pod(self, name: str) -> dict[str, Any] | None:
        """The last nodes of the pod ``name`` ("namespace/name"); ``None`` if no node was looked for."""
        return {"pod": name, **self.pods[name]} if name in self.pods else None

    def nodes(self) -> dict[str, int]:
        """How many nodes are ``there`` at the end, and how many have pods then under either policy.

        Pods of DaemonSets and static pods do not count: a node with nothing else can go.
        """
        there = int((~np.isnan(self.changed.allocatable([self.changed.end], CPU)[-1])).sum())
        empty = self._sides(lambda outcome: int(empty_nodes(outcome, [outcome.end])[0]))
        return {"there": there, **{side: there - number for side, number in empty.items()}}

    def measures(self, *, standing: bool) -> list[dict[str, Any]]:
        """Every measure with its value under either policy, as plain data.

        ``standing``: the cluster was placed anew at one moment, so that only what holds at the end is measured; use is
        what the pods would use where they are then.
        """
        first, second = (_measured(self.prepared, one, standing) for one in (self.current, self.changed))
        values = {one.name: one.value for one in first}
        told = ((asdict(one), values.get(one.name)) for one in second)
        return [{**one, "current": before, "changed": one.pop("value")} for one, before in told]

    def _sides(self, of: Callable[[Outcome], Any]) -> dict[str, Any]:
        return {"current": of(self.current), "changed": of(self.changed)}


def play(
    prepared: Prepared,
    current: Configuration,
    changed: Configuration,
    progress: Progress,
    about: str = "",
    known: Outcome | None = None,
    *,
    only_waiting: bool = False,
) -> Both:
    """Play ``prepared`` under both; ``progress`` is told how far it is, and ``about`` which pods.

    ``known`` is what came of it under the current policy, where that was played before. ``only_waiting``: the answer is
    about the pods that have no node at the beginning.
    Raises DocumentError at the path "scenario" where it cannot be played.
    """
    try:
        before = known or run(prepared, current, progress=_heard(progress, f"{about} under the current policy:"))
        after = run(prepared, changed, progress=_heard(progress, f"{about} under the changed policy:"))
    except (SimulationError, CycleError) as error:
        raise DocumentError([DocumentProblem("scenario", f"cannot be played: {error}")]) from None
    told = _heard(progress, "Moved pods explained:")
    comparison = compare(before, after, prepared, current, changed, progress=told)
    bound = frozenset(map(_name, _raw_pods(prepared.objects))) if only_waiting else frozenset[str]()
    return Both(prepared, before, after, comparison, bound)


def use_at_end(prepared: Prepared, outcome: Outcome) -> dict[str, Floats]:
    """The use of each node, by resource, with the pods that it has at the end: percent, f8[nodes], nan if unknown.

    {} where nothing is known of real use.
    """
    if prepared.use is None:
        return {}
    model, pods = prepared.use(), _pods(prepared)
    placed = outcome.placed(outcome.end)
    for row in np.flatnonzero(placed >= 0).tolist():
        pod = pods.get(outcome.pods[row]) or pods.get(outcome.pods[int(outcome.first[row])])
        if pod is not None:
            read = pod if isinstance(pod, Pod) else Pod.read(pod)
            model.came(read.on(outcome.nodes[placed[row]]), outcome.end)
    marks, found = model.measured(outcome.end), {}
    for resource in (CPU, MEMORY):
        column = marks.aligned(outcome.nodes).use_now(resource)
        if column is not None:
            found[resource] = column
    return found


def _measured(prepared: Prepared, outcome: Outcome, standing: bool) -> list[Measure]:
    every = [one for one in measure(outcome) if one.value is not None]
    if not standing:
        return every
    kept = [one for one in every if (spec := find_spec(one.name)) is not None and spec.is_standing]
    return [*kept, *_use(use_at_end(prepared, outcome), outcome)]


def _use(levels: Mapping[str, Floats], outcome: Outcome) -> Iterator[Measure]:
    open_nodes = outcome.states([outcome.end])[-1] == NodeState.OPEN
    for resource, column in levels.items():
        spread = Spread.of(column[open_nodes])
        if spread is not None:
            yield measure_of(get_spec(f"use_skew_{resource}_end"), spread.skew)
        yield measure_of(get_spec(f"use_hottest_{resource}_end"), float(np.nanmax(column)))


def _pods(prepared: Prepared) -> dict[str, Pod | Json]:
    """The pods of a scenario by "namespace/name": those that are there, and those that arrive."""
    arriving = (event.pod for event in prepared.events if isinstance(event, PodArrives))
    return {_name(pod): pod for pod in (*_raw_pods(prepared.objects), *arriving)}


def _raw_pods(objects: Iterable[Json]) -> Iterator[Json]:
    return (raw for raw in objects if raw.get("kind") == "Pod")


def _name(pod: Pod | Json) -> str:
    if isinstance(pod, Pod):
        return pod.key
    metadata = pod.get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def _heard(progress: Progress, text: str) -> Heard:
    def heard(now: float, done: int, known: int) -> None:
        progress(text.strip(), min(done, known), known)

    return heard
