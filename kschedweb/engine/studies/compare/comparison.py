"""Compare two runs of one scenario: which pods got other nodes, and because of which plugin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import Observer
from kschedweb.engine.studies.compare.pairs import PodPairs, pair_pods
from kschedweb.engine.studies.compare.twin import Twin
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.recorder import STEPS, Progress
from kschedweb.engine.studies.play.rewind import Rewind, can_rewind
from kschedweb.engine.studies.play.simulation import Registry, finish_simulation, start_simulation
from kschedweb.engine.studies.play.successors import last_node
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.simulation.pod_life import PodLife

NOT_SCORED = "The scheduler did not score the node the pod went to before: it had found enough others."
ROOM_MADE = "Room had been made for the pod on its new node, so no scores were needed."
NO_SCORES = "No plugin prefers the new node: totals are equal, and the order of the nodes decides."
NEVER_TRIED = "The pod was never tried."


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """A pod with different last nodes in two runs."""

    # "namespace/name" of the first pod of a chain of replacements.
    pod: str
    # Last node in the first and in the second run; "" for none.
    before: str
    after: str
    # The plugin whose weighted score favours the new node over the old one most at the pod's last try, or the plugin
    # that rejects the old node; "" if no plugin can be named.
    plugin: str = ""
    # Points by which that score favours the new node; None for a rejection.
    lead: int | None = None
    # The scheduler's message of a rejection, or the reason why no plugin can be named.
    message: str = ""
    # True if the policy of the first run also chooses the new node in the cluster that the second run had: the pod
    # moves because others moved before it.
    follows: bool = False
    # The replacements that had these nodes in the first and in the second run; "" for the pod itself.
    before_pod: str = ""
    after_pod: str = ""

    def to_dict(self) -> Json:
        return {"said" if name == "message" else name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class PlacementComparison:
    """The pods that both runs have, and those of them whose nodes changed."""

    # Pods that the scheduler dealt with in at least one run.
    pairs: PodPairs
    # Pods with other nodes, with a node in the first run only, and with a node in the second run only.
    moved: list[PlacementChange]
    newly_unscheduled: list[PlacementChange]
    newly_scheduled: list[PlacementChange]

    @property
    def pods(self) -> int:
        return len(self.pairs.listed)

    def counts(self) -> Json:
        """Return the number of changes of each kind, of pods that only one run has, and of moved pods by plugin."""
        by_plugin = Counter(change.plugin for change in self.moved)
        return {
            "pods": self.pods,
            "onlyBefore": len(self.pairs.only_before),
            "onlyAfter": len(self.pairs.only_after),
            "moved": len(self.moved),
            "newlyUnscheduled": len(self.newly_unscheduled),
            "newlyScheduled": len(self.newly_scheduled),
            "byPlugin": dict(sorted(by_plugin.items(), key=lambda item: (-item[1], item[0]))),
        }

    def to_dict(self) -> Json:
        lists = {
            "moved": self.moved,
            "newlyUnscheduled": self.newly_unscheduled,
            "newlyScheduled": self.newly_scheduled,
        }
        return {name: [change.to_dict() for change in listed] for name, listed in lists.items()}


def compare_runs(
    first: RunOutcome,
    second: RunOutcome,
    prepared: PreparedScenario,
    first_configuration: Configuration,
    second_configuration: Configuration,
    *,
    second_prepared: PreparedScenario | None = None,
    registry: Registry | None = None,
    progress: Progress | None = None,
    most_explained: int | None = None,
) -> PlacementComparison:
    """Compare two runs of ``prepared``; the second may have a scenario of its own.

    Only the first ``most_explained`` changes get a reason, None: all of them.

    The reasons come from the second run's tries, or the first's for pods that gained a node. ``progress(virtual
    seconds, pods explained, pods to explain)`` may raise to end the comparison.
    """
    pairs = pair_pods(first, second)
    changes = list(_find_changes(first, second, pairs))
    # A pod without a node in the first run failed there, so the first run's last try has the reason.
    gained = [change for change in changes if not change.before]
    moved_or_lost = [change for change in changes if change.before]
    reasonless = [] if most_explained is None else moved_or_lost[most_explained:]
    moved_or_lost = moved_or_lost[:most_explained]
    explainer = _ChangeExplainer(moved_or_lost, second, first_configuration, progress)
    explainer.find_out(second_prepared or prepared, second_configuration, registry)
    gain_explainer = _ChangeExplainer(
        [_reverse_change(change) for change in gained], first, second_configuration, progress
    )
    gain_explainer.find_out(prepared, first_configuration, registry)
    explained = [*(explainer.explain_change(change) for change in moved_or_lost), *reasonless]
    return PlacementComparison(
        pairs=pairs,
        moved=[change for change in explained if change.after],
        newly_unscheduled=[change for change in explained if not change.after],
        newly_scheduled=[_reverse_change(gain_explainer.explain_change(_reverse_change(change))) for change in gained],
    )


def _find_changes(first: RunOutcome, second: RunOutcome, pairs: PodPairs) -> Iterable[PlacementChange]:
    """Yield pods with another last node, in the order of their arrival in the first run."""
    for pair in pairs.listed:
        before, after = last_node(first, pair.before), last_node(second, pair.after)
        if before != after:
            names = (first.pods[pair.before], second.pods[pair.after])
            pod_names = ("" if name == pair.pod else name for name in names)
            yield PlacementChange(pair.pod, before, after, before_pod=next(pod_names), after_pod=next(pod_names))


def _reverse_change(change: PlacementChange) -> PlacementChange:
    """Return the change from the second run to the first."""
    return replace(
        change,
        before=change.after,
        after=change.before,
        before_pod=change.after_pod,
        after_pod=change.before_pod,
    )


class _AllExplainedError(Exception):
    """End a replay after all required tries were explained."""


class _ChangeExplainer(Observer):
    """Explain the last try of each pod of ``changes`` in the run with ``outcome``.

    ``other`` is the configuration of the other run.
    """

    scheduler: Scheduler

    def __init__(
        self, changes: list[PlacementChange], outcome: RunOutcome, other: Configuration, progress: Progress | None
    ) -> None:
        self._other, self._start, self._twin = other, 0, Twin(other.release.cluster)
        self._other_scheduler: Scheduler | None = None
        rows = {outcome.index[change.after_pod or change.pod]: change for change in changes}
        self._outcome, self._progress, self._steps = outcome, progress, 0
        # Changes by row of pods that were tried, and the rows of those that are not explained yet.
        self._wanted = {row: change for row, change in rows.items() if outcome.attempts[row]}
        self._unexplained = set(self._wanted)
        self._rows: dict[PodLife, int] = {}
        self._explained: dict[str, PlacementChange] = {}
        # The change that the next decision explains, and the verdict on its old node.
        self._current: tuple[PlacementChange, Status] | None = None

    def find_out(self, prepared: PreparedScenario, configuration: Configuration, registry: Registry | None) -> None:
        """Explain the tries from the run's moves if they suffice, and the others from a replay of the run."""
        recorded_rows = [row for row in self._wanted if can_rewind(self._outcome, row)]
        if recorded_rows:
            rewind = Rewind(prepared, configuration, self._outcome, registry=registry)
            self._use_scheduler(rewind.scheduler, registry)
            for row in rewind.in_order(recorded_rows):
                pod, now = rewind.go_to_try(row), float(self._outcome.tries.time[row])
                self._start = int(self._outcome.tries.start[row])
                self._note_verdict(row, pod)
                self.decided(pod, self.scheduler.find(pod, self._build_request(self._start)), now)
                self._report_progress(now)
        if self._unexplained:
            simulation = start_simulation(prepared, configuration, self, registry=registry)
            self._use_scheduler(simulation.loop.scheduler, registry)
            with suppress(_AllExplainedError):
                finish_simulation(simulation, prepared)

    def _use_scheduler(self, scheduler: Scheduler, registry: Registry | None) -> None:
        """Use ``scheduler`` for the next tries, and a twin of its cluster for the other configuration."""
        self.scheduler = scheduler
        twin_snapshot = self._twin.mirror_snapshot(scheduler.snapshot)
        self._other_scheduler = Scheduler.from_configuration(
            twin_snapshot, self._other, registry, nominator=scheduler.nominator
        )

    def explain_change(self, change: PlacementChange) -> PlacementChange:
        """Return the change with its reason."""
        return self._explained.get(change.pod, replace(change, message=NEVER_TRIED))

    def _report_progress(self, now: float) -> None:
        self._steps += 1
        if self._progress is not None and self._steps % STEPS == 0:
            self._progress(now, len(self._explained), len(self._wanted))

    def _note_verdict(self, row: int, pod: Pod) -> None:
        change = self._wanted[row]
        self._unexplained.discard(row)
        try:
            self._current = change, self.scheduler.verdict(pod, change.before)
        except CycleError:
            return

    def _build_request(self, start: int | None = None) -> SearchRequest:
        if self._current is None:
            return SearchRequest(post_filter=True, start=start)
        return SearchRequest(post_filter=True, start=start, ranks=1, also_ranked=self._current[0].before)

    # Events of a replayed run.

    def arrived(self, life: PodLife, now: float) -> None:
        self._rows[life] = len(self._rows)

    def passed(self, now: float) -> None:
        self._report_progress(now)
        if not self._unexplained:
            raise _AllExplainedError

    def tries(self, life: PodLife, attempt: int, start: int, now: float) -> None:
        row = self._rows[life]
        if row in self._unexplained and attempt == self._outcome.attempts[row]:
            self._start = start
            self._note_verdict(row, life.pod)

    def request(self) -> SearchRequest:
        return self._build_request()

    def decided(self, pod: Pod, placement: Placement, now: float) -> None:
        if self._current is not None:
            (change, verdict), self._current = self._current, None
            reason = _explain_placement(change, verdict, pod, placement)
            self._explained[change.pod] = replace(reason, follows=self._chooses_same_node(placement.node, pod))

    def _chooses_same_node(self, node: str, pod: Pod) -> bool:
        """Return whether the other configuration chooses the same ``node`` for the pod, or none as well."""
        assert self._other_scheduler is not None
        self._other_scheduler.use_snapshot(self._twin.mirror_snapshot(self.scheduler.snapshot))
        try:
            return self._other_scheduler.find(pod, SearchRequest(start=self._start)).node == node
        except CycleError:
            return False


def _explain_placement(change: PlacementChange, verdict: Status, pod: Pod, placement: Placement) -> PlacementChange:
    if not verdict.ok:
        return replace(change, plugin=verdict.plugin, message=verdict.message)
    if not placement.node:
        return replace(change, message=placement.condition)
    if not placement.top:
        return replace(change, message=ROOM_MADE if pod.nominated_node == placement.node else NOT_SCORED)
    before = next((ranked for ranked in placement.top if ranked.node == change.before), None)
    if before is None:
        return replace(change, message=NOT_SCORED)
    after = placement.top[0]
    terms = {name: score - before.scores.get(name, 0) for name, score in after.scores.items()}
    plugin = max(terms, key=lambda name: terms[name], default="")
    if not terms or terms[plugin] <= 0:
        return replace(change, message=NO_SCORES)
    return replace(change, plugin=plugin, lead=terms[plugin])
