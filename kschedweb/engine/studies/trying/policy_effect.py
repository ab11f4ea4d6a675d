"""Show the effect of a change of a policy: run a scenario under the current and under the changed policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cached_property

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import ZONE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.compare.comparison import PlacementComparison, compare_runs
from kschedweb.engine.studies.gate.gate import Progress, play_policy, wrap_progress
from kschedweb.engine.studies.measure.measures import compute_measures, measure_of
from kschedweb.engine.studies.measure.occupancy import empty_nodes
from kschedweb.engine.studies.measure.registry import find_spec, get_spec
from kschedweb.engine.studies.measure.values import RunMeasure
from kschedweb.engine.studies.moves.balance import LevelSpread
from kschedweb.engine.studies.play.outcome import MoveKind, NodeState, RunOutcome
from kschedweb.engine.studies.play.successors import last_node
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from kschedweb.engine.values import dataclass

GAINED, LOST, MOVED = "gained", "lost", "moved"
SIDES = ("current", "changed")


@dataclass(frozen=True)
class PolicyEffect:
    """A scenario under two policies, and the comparison of both runs."""

    prepared: PreparedScenario
    current: RunOutcome
    changed: RunOutcome
    comparison: PlacementComparison
    # "namespace/name" of pods that the question is not about: they had a node, and may be evicted.
    excluded_pods: frozenset[str] = frozenset()

    @cached_property
    def pods(self) -> dict[str, dict[str, str]]:
        """Pods that the scheduler dealt with, with their last nodes under either policy, "" for none."""
        return {
            pair.pod: {"current": last_node(self.current, pair.before), "changed": last_node(self.changed, pair.after)}
            for pair in self.comparison.pairs.listed
            if pair.pod not in self.excluded_pods
        }

    @property
    def counts(self) -> Json:
        """The number of ``pods``, of those that are ``placed``, and of changes by kind.

        ``evicted`` is the number of preempted pods.
        """
        kinds = Counter(change["what"] for change in self.changes)
        plugins = Counter(change["plugin"] for change in self.changes if change["what"] == MOVED)
        return {
            "pods": len(self.pods),
            "placed": {side: sum(bool(nodes[side]) for nodes in self.pods.values()) for side in SIDES},
            "evicted": self._both_sides(lambda outcome: int((outcome.forced_moves.kind == MoveKind.PREEMPTED).sum())),
            **{kind: kinds[kind] for kind in (GAINED, LOST, MOVED)},
            "by_plugin": [{"plugin": name, "pods": pods} for name, pods in plugins.most_common()],
        }

    @cached_property
    def changes(self) -> list[Json]:
        """Pods with other last nodes as plain data: the kind of change (``what``), both nodes, and the reason.

        ``current_pod`` and ``changed_pod`` are the replacements that have these nodes; "" is the pod itself.
        """
        comparison, listed = self.comparison, []
        for kind, changes in (
            (GAINED, comparison.newly_scheduled),
            (LOST, comparison.newly_unscheduled),
            (MOVED, comparison.moved),
        ):
            for change in changes:
                if change.pod not in self.excluded_pods:
                    description: Json = {"pod": change.pod, "what": kind, **self.pods[change.pod]}
                    why = {
                        "plugin": change.plugin,
                        "lead": change.lead,
                        "said": change.message,
                        "follows": change.follows,
                    }
                    successors = {"current_pod": change.before_pod, "changed_pod": change.after_pod}
                    listed.append({**description, **why, **successors})
        return listed

    def pod(self, name: str) -> Json | None:
        """Return the last nodes of the pod ``name`` ("namespace/name"); ``None`` if it is not one of ``pods``."""
        return {"pod": name, **self.pods[name]} if name in self.pods else None

    def nodes(self) -> dict[str, int]:
        """Return the number of nodes at the end, and how many of them have pods under either policy.

        Pods of DaemonSets and static pods do not count: a node with nothing else can go.
        """
        total = int((~np.isnan(self.changed.allocatable([self.changed.end], CPU)[-1])).sum())
        empty = self._both_sides(lambda outcome: int(empty_nodes(outcome, [outcome.end])[0]))
        return {"there": total, **{side: total - number for side, number in empty.items()}}

    def node_levels(self) -> Json:
        """Return the nodes at the end as plain data: names, zones, and the percent of CPU requested under either
        policy."""
        zones = {
            str(raw["metadata"]["name"]): str((raw["metadata"].get("labels") or {}).get(ZONE, ""))
            for raw in self.prepared.objects
            if raw.get("kind") == "Node"
        }
        shares = {
            side: dict(zip(outcome.nodes, outcome.requested_shares([outcome.end], CPU)[-1].tolist(), strict=True))
            for side, outcome in (("current", self.current), ("changed", self.changed))
        }
        names = [name for name, share in shares["changed"].items() if share == share]
        levels = {side: [round(100 * column.get(name, 0.0), 1) for name in names] for side, column in shares.items()}
        return {"nodes": names, "zones": [zones.get(name, "") for name in names], **levels}

    def list_measures(self, *, at_end: bool) -> list[Json]:
        """Return every measure with its value under either policy, as plain data.

        With ``at_end``, the cluster was placed anew at one moment, so only the state at the end is measured. Use is
        then the use of pods on their last nodes.
        """
        first, second = (_measure_outcome(self.prepared, outcome, at_end) for outcome in (self.current, self.changed))
        values = {measure.name: measure.value for measure in first}
        pairs = ((asdict(measure), values.get(measure.name)) for measure in second)
        return [{**plain, "current": before, "changed": plain.pop("value")} for plain, before in pairs]

    def _both_sides(self, compute: Callable[[RunOutcome], int]) -> dict[str, int]:
        return {"current": compute(self.current), "changed": compute(self.changed)}


def play_both(
    prepared: PreparedScenario,
    current: Configuration,
    changed: Configuration,
    progress: Progress,
    subject: str = "",
    known_outcome: RunOutcome | None = None,
    *,
    only_waiting: bool = False,
    most_explained: int | None = None,
) -> PolicyEffect:
    """Run ``prepared`` under both policies. ``progress`` gets the progress, and ``subject`` names the pods in it.

    ``known_outcome`` is the outcome under the current policy if there is one already. With ``only_waiting``, the answer
    is about the pods that have no node at the beginning. Only the first ``most_explained`` moves get a reason. Raise
    DocumentError at the path "scenario" if the scenario cannot be run.
    """
    before = known_outcome or play_policy(
        prepared, current, wrap_progress(progress, f"{subject} under the current policy:")
    )
    after = play_policy(prepared, changed, wrap_progress(progress, f"{subject} under the changed policy:"))
    explain_progress = wrap_progress(progress, f"{subject} that move, explained:")
    comparison = compare_runs(
        before, after, prepared, current, changed, progress=explain_progress, most_explained=most_explained
    )
    bound = frozenset(map(_pod_name, _raw_pods(prepared.objects))) if only_waiting else frozenset[str]()
    return PolicyEffect(prepared, before, after, comparison, bound)


def use_at_end(prepared: PreparedScenario, outcome: RunOutcome) -> dict[str, Floats]:
    """Return the use of each node by resource with its pods at the end: percent, f8[nodes], NaN if it is unknown.

    Return {} if real use is unknown.
    """
    if prepared.use is None:
        return {}
    model, pods = prepared.use(), _pods_by_name(prepared)
    placed = outcome.placed(outcome.end)
    for row in np.flatnonzero(placed >= 0).tolist():
        # A replacement uses what the first pod of its chain uses.
        pod = pods.get(outcome.pods[row]) or pods.get(outcome.pods[int(outcome.first[row])])
        if pod is not None:
            read = pod if isinstance(pod, Pod) else Pod.from_json(pod)
            model.add_pod(read.on(outcome.nodes[placed[row]]), outcome.end)
    marks, use = model.measured(outcome.end), {}
    for resource in (CPU, MEMORY):
        column = marks.align_to(outcome.nodes).use_now(resource)
        if column is not None:
            use[resource] = column
    return use


def _measure_outcome(prepared: PreparedScenario, outcome: RunOutcome, at_end: bool) -> list[RunMeasure]:
    measures = [entry for entry in compute_measures(outcome) if entry.value is not None]
    if not at_end:
        return measures
    lasting = [entry for entry in measures if (spec := find_spec(entry.name)) is not None and spec.is_standing]
    return [*lasting, *_use_measures(use_at_end(prepared, outcome), outcome)]


def _use_measures(levels: Mapping[str, Floats], outcome: RunOutcome) -> Iterator[RunMeasure]:
    open_nodes = outcome.node_states([outcome.end])[-1] == NodeState.OPEN
    for resource, column in levels.items():
        spread = LevelSpread.from_levels(column[open_nodes])
        if spread is not None:
            yield measure_of(get_spec(f"use_skew_{resource}_end"), spread.skew)
        yield measure_of(get_spec(f"use_hottest_{resource}_end"), float(np.nanmax(column)))


def _pods_by_name(prepared: PreparedScenario) -> dict[str, Pod | Json]:
    """Return the pods of a scenario by "namespace/name": those of the beginning, and those that arrive."""
    arriving = (event.pod for event in prepared.events if isinstance(event, PodArrives))
    return {_pod_name(pod): pod for pod in (*_raw_pods(prepared.objects), *arriving)}


def _raw_pods(objects: Iterable[Json]) -> Iterator[Json]:
    return (raw for raw in objects if raw.get("kind") == "Pod")


def _pod_name(pod: Pod | Json) -> str:
    if isinstance(pod, Pod):
        return pod.key
    metadata = pod.get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"
