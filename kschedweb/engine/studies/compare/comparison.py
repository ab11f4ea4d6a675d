"""Comparison of two runs of one scenario: which pods got other nodes, and because of which plugin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.framework.status import CycleError, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import Observer
from kschedweb.engine.studies.compare.pairs import PodPairs, paired
from kschedweb.engine.studies.compare.twin import Twin
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.playing import Registry, begin, finish
from kschedweb.engine.studies.play.recorder import STEPS, Progress
from kschedweb.engine.studies.play.rewind import Rewind, knows
from kschedweb.engine.studies.play.successors import last_node
from kschedweb.engine.studies.prepare.prepared import Prepared
from kschedweb.engine.values import dataclass

if TYPE_CHECKING:
    from kschedweb.engine.simulation.life import Life

NOT_SCORED = "The scheduler did not score the node the pod went to before: it had found enough others."
ROOM_MADE = "Room had been made for the pod on its new node, so no scores were needed."
NO_SCORES = "No plugin prefers the new node: totals are equal, and the order of the nodes decides."
NEVER_TRIED = "The pod was never tried."


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """A pod whose last node is ``before`` in the first run and ``after`` in the second; "" is no node.

    ``before_pod`` and ``after_pod`` took its place and had these nodes; "" is the pod itself.

    ``plugin`` is the one whose weighted score favours the new node over the old one most, by ``lead`` points, at the
    pod's last try. Or it is the one that rejects the old node; then ``lead`` is ``None``. ``said`` is the scheduler's
    message of a rejection, or why no plugin can be named. Where it ``follows``, the policy of the first run comes to
    the same in the cluster that the second one saw: the pod moves because others moved before it.
    """

    pod: str
    before: str
    after: str
    plugin: str = ""
    lead: int | None = None
    said: str = ""
    follows: bool = False
    before_pod: str = ""
    after_pod: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes among the ``pods`` pods that both runs have: other nodes, and a node in one run only.

    ``pairs`` are these pods: those for which a node was looked for.
    """

    pairs: PodPairs
    moved: list[PlacementChange]
    newly_unscheduled: list[PlacementChange]
    newly_scheduled: list[PlacementChange]

    @property
    def pods(self) -> int:
        return len(self.pairs.listed)

    def counts(self) -> dict[str, Any]:
        """The number of changes of each kind, of pods that one run has alone, and of those that each plugin moved."""
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

    def to_dict(self) -> dict[str, Any]:
        lists = {
            "moved": self.moved,
            "newlyUnscheduled": self.newly_unscheduled,
            "newlyScheduled": self.newly_scheduled,
        }
        return {name: [change.to_dict() for change in listed] for name, listed in lists.items()}


def compare(
    first: Outcome,
    second: Outcome,
    prepared: Prepared,
    first_configuration: Configuration,
    second_configuration: Configuration,
    *,
    second_prepared: Prepared | None = None,
    registry: Registry | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two runs, of ``prepared`` both unless the second has a scenario of its own.

    The reasons come from the second run's tries, or the first's for pods that gained a node.
    ``progress(virtual seconds, pods explained, pods to explain)`` may raise to end the comparison.
    """
    pairs = paired(first, second)
    changes = list(_changes(first, second, pairs))
    gained = [change for change in changes if not change.before]
    others = [change for change in changes if change.before]
    why = _Why(others, second, first_configuration, progress)
    why.find_out(second_prepared or prepared, second_configuration, registry)
    why_not = _Why([_turned(change) for change in gained], first, second_configuration, progress)
    why_not.find_out(prepared, first_configuration, registry)
    known = [why.known(change) for change in others]
    return Comparison(
        pairs=pairs,
        moved=[change for change in known if change.after],
        newly_unscheduled=[change for change in known if not change.after],
        newly_scheduled=[_turned(why_not.known(_turned(change))) for change in gained],
    )


def _changes(first: Outcome, second: Outcome, pairs: PodPairs) -> Iterable[PlacementChange]:
    """Pods with another last node, in the order of their arrival in the first run."""
    for pair in pairs.listed:
        before, after = last_node(first, pair.before), last_node(second, pair.after)
        if before != after:
            names = (first.pods[pair.before], second.pods[pair.after])
            who = ("" if name == pair.pod else name for name in names)
            yield PlacementChange(pair.pod, before, after, before_pod=next(who), after_pod=next(who))


def _turned(change: PlacementChange) -> PlacementChange:
    """The change from the second run to the first."""
    return replace(
        change,
        before=change.after,
        after=change.before,
        before_pod=change.after_pod,
        after_pod=change.before_pod,
    )


class _AllAskedError(Exception):
    """Ends a replay once all required tries have been explained."""


class _Why(Observer):
    """Explains the last try of each pod of ``changes`` in the run with ``outcome``.

    ``other`` is the configuration of the other run.
    """

    scheduler: Scheduler

    def __init__(
        self, changes: list[PlacementChange], outcome: Outcome, other: Configuration, progress: Progress | None
    ) -> None:
        self._other, self._start, self._twin = other, 0, Twin(other.release.cluster)
        self._instead: Scheduler | None = None
        rows = {outcome.index[change.after_pod or change.pod]: change for change in changes}
        self._outcome, self._progress, self._steps = outcome, progress, 0
        self._wanted = {row: change for row, change in rows.items() if outcome.attempts[row]}
        self._left = set(self._wanted)
        self._rows: dict[Life, int] = {}
        self._found: dict[str, PlacementChange] = {}
        self._asked: tuple[PlacementChange, Status] | None = None

    def find_out(self, prepared: Prepared, configuration: Configuration, registry: Registry | None) -> None:
        """Explain from the run's moves where they suffice, and the others by replaying the run."""
        told = [row for row in self._wanted if knows(self._outcome, row)]
        if told:
            rewind = Rewind(prepared, configuration, self._outcome, registry=registry)
            self._explain(rewind.scheduler, registry)
            for row in rewind.in_order(told):
                pod, now = rewind.to(row), float(self._outcome.tries.time[row])
                self._start = int(self._outcome.tries.start[row])
                self._ask(row, pod)
                self.decided(pod, self.scheduler.find(pod, self._request(self._start)), now)
                self._step(now)
        if self._left:
            simulation = begin(prepared, configuration, self, registry=registry)
            self._explain(simulation.loop.scheduler, registry)
            with suppress(_AllAskedError):
                finish(simulation, prepared)

    def _explain(self, scheduler: Scheduler, registry: Registry | None) -> None:
        """From now on tries are those of ``scheduler``."""
        self.scheduler = scheduler
        seen = self._twin.of(scheduler.snapshot)
        self._instead = Scheduler.of(seen, self._other, registry, nominator=scheduler.nominator)

    def known(self, change: PlacementChange) -> PlacementChange:
        """The change with its reason."""
        return self._found.get(change.pod, replace(change, said=NEVER_TRIED))

    def _step(self, now: float) -> None:
        self._steps += 1
        if self._progress is not None and self._steps % STEPS == 0:
            self._progress(now, len(self._found), len(self._wanted))

    def _ask(self, row: int, pod: Pod) -> None:
        change = self._wanted[row]
        self._left.discard(row)
        try:
            self._asked = change, self.scheduler.verdict(pod, change.before)
        except CycleError:
            return

    def _request(self, start: int | None = None) -> SearchRequest:
        if self._asked is None:
            return SearchRequest(post_filter=True, start=start)
        return SearchRequest(post_filter=True, start=start, ranks=1, also=self._asked[0].before)

    # Events of a replayed run.

    def arrived(self, life: Life, now: float) -> None:
        self._rows[life] = len(self._rows)

    def passed(self, now: float) -> None:
        self._step(now)
        if not self._left:
            raise _AllAskedError

    def tries(self, life: Life, attempt: int, start: int, now: float) -> None:
        row = self._rows[life]
        if row in self._left and attempt == self._outcome.attempts[row]:
            self._start = start
            self._ask(row, life.pod)

    def request(self) -> SearchRequest:
        return self._request()

    def decided(self, pod: Pod, placement: Placement, now: float) -> None:
        if self._asked is not None:
            (change, verdict), self._asked = self._asked, None
            reason = _reason(change, verdict, pod, placement)
            self._found[change.pod] = replace(reason, follows=self._comes_to(placement.node, pod))

    def _comes_to(self, node: str, pod: Pod) -> bool:
        """Whether the other configuration takes the same ``node`` for the pod, or none as well."""
        assert self._instead is not None
        self._instead.use(self._twin.of(self.scheduler.snapshot))
        try:
            return self._instead.find(pod, SearchRequest(start=self._start)).node == node
        except CycleError:
            return False


def _reason(change: PlacementChange, verdict: Status, pod: Pod, placement: Placement) -> PlacementChange:
    if not verdict.ok:
        return replace(change, plugin=verdict.plugin, said=verdict.message)
    if not placement.node:
        return replace(change, said=placement.condition)
    if not placement.top:
        return replace(change, said=ROOM_MADE if pod.nominated_node == placement.node else NOT_SCORED)
    before = next((one for one in placement.top if one.node == change.before), None)
    if before is None:
        return replace(change, said=NOT_SCORED)
    after = placement.top[0]
    terms = {name: score - before.scores.get(name, 0) for name, score in after.scores.items()}
    plugin = max(terms, key=lambda name: terms[name], default="")
    if not terms or terms[plugin] <= 0:
        return replace(change, said=NO_SCORES)
    return replace(change, plugin=plugin, lead=terms[plugin])
