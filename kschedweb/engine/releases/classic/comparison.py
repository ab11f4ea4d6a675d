"""Comparison of a classic policy with a profile on one cluster: the pods that would move, and the rule that moves
each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.judgement import compute_leads, find_rejection
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import Code, CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.releases.classic.scheduler import ClassicScheduler
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


class MoveVerdict(StrEnum):
    """The result for a pod when the profile replaces the classic policy."""

    # Both choose the same node.
    SAME = "same"
    # Some node is among the best on both sides; classic takes equals in turn, the profile at random.
    EITHER = "either"
    # No node is among the best on both sides.
    MOVES = "moves"
    # It fits only under the classic policy.
    ONLY_CLASSIC = "only classic"
    ONLY_PROFILE = "only profile"
    # It fits nowhere under either.
    NEITHER = "neither"


class RuleSide(StrEnum):
    """The side that a rule belongs to."""

    CLASSIC = "classic"
    PROFILE = "profile"


class RuleKind(StrEnum):
    """The effect of a rule."""

    # It rejects the node that the other side chooses.
    REJECTS = "rejects"
    # It prefers its own side's node.
    PREFERS = "prefers"
    # The cycle ends in an error.
    FAILS = "fails"


@dataclass(frozen=True, slots=True)
class MoveRule:
    """A predicate or priority of the classic policy, or a plugin of the profile, that makes the sides differ."""

    # "" if no rule is the cause.
    name: str
    side: RuleSide
    kind: RuleKind
    # The scheduler's words, of a rule that rejects.
    reason: str = ""
    # Weighted points by which the rule prefers its own side's node to the other side's.
    lead: int | None = None
    # The lead divided by the side's span, the difference of the highest and the lowest total of its feasible nodes. It
    # is above 1 if other rules count against the node. So rules of both sides can be compared, whatever the scales of
    # their scores and weights.
    share: float | None = None

    def to_dict(self) -> Json:
        result = {"name": self.name, "side": str(self.side), "kind": str(self.kind)}
        return result | {"reason": self.reason, "lead": self.lead, "share": self.share}


@dataclass(frozen=True, slots=True)
class PodMove:
    """The result for one pod."""

    pod: str
    # The pod's node in the snapshot; "" if it is pending.
    bound_to: str
    verdict: MoveVerdict
    # The nodes that the two sides choose, "" for none. Both are the same node if both sides can choose it.
    classic: str = ""
    profile: str = ""
    # Numbers of equal nodes from which each side chooses.
    classic_best: int = 0
    profile_best: int = 0
    # The cause of the difference; ``None`` if there need not be any.
    rule: MoveRule | None = None

    @property
    def differs(self) -> bool:
        return self.rule is not None

    def to_dict(self) -> Json:
        names = ("pod", "classic", "profile")
        result: Json = {name: getattr(self, name) for name in names}
        result |= {"boundTo": self.bound_to, "verdict": str(self.verdict)}
        result |= {"classicBest": self.classic_best, "profileBest": self.profile_best}
        return result | {"rule": None if self.rule is None else self.rule.to_dict()}


class MoveTally:
    """The number of pods of each verdict, and the number that each rule moves or keeps from fitting."""

    def __init__(self) -> None:
        self._verdicts: Counter[MoveVerdict] = Counter()
        self._rules: dict[tuple[str, RuleSide, RuleKind], Counter[MoveVerdict]] = {}

    def add_move(self, move: PodMove) -> None:
        self._verdicts[move.verdict] += 1
        if (rule := move.rule) is not None:
            self._rules.setdefault((rule.name, rule.side, rule.kind), Counter())[move.verdict] += 1

    def to_dict(self) -> Json:
        """Return plain data, rules with most pods first.

        Of a rule's ``pods``, ``moves`` move; the others fit on one side only.
        """
        ordered = sorted(self._rules.items(), key=lambda item: (-item[1].total(), item[0]))
        rules = []
        for (name, side, kind), counts in ordered:
            rule = {"name": name, "side": str(side), "kind": str(kind)}
            rules.append({**rule, "pods": counts.total(), "moves": counts[MoveVerdict.MOVES]})
        verdicts = {str(verdict): self._verdicts[verdict] for verdict in MoveVerdict}
        return {"pods": self._verdicts.total(), "verdicts": verdicts, "rules": rules}


def select_pods(snapshot: Snapshot, *, bound: bool = False, namespaces: Collection[str] = ()) -> list[Pod]:
    """Return the pods to compare: the pending ones in queue order and, if ``bound``, then those on nodes.

    Empty ``namespaces`` means all. Pods that are being deleted are left out.
    """

    def is_selected(pod: Pod) -> bool:
        return not pod.terminating and (not namespaces or pod.namespace in namespaces)

    waiting = sorted((pod for pod in snapshot.pending if is_selected(pod)), key=_queue_key)
    placed = (pod for pod in snapshot.pods.pods if pod is not None and is_selected(pod)) if bound else ()
    return [*waiting, *sorted(placed, key=lambda pod: (pod.namespace, pod.name))]


def _queue_key(pod: Pod) -> tuple[int, str, str]:
    """Return the sort key by priority, then by age: times in UTC sort as text."""
    return -pod.priority, str((pod.raw.get("metadata") or {}).get("creationTimestamp") or ""), pod.key


def compare_pods(
    classic: ClassicSnapshot,
    snapshot: Snapshot,
    algorithm: Algorithm,
    configuration: Configuration,
    pods: Iterable[Pod],
    *,
    sequence: bool = False,
) -> Iterator[PodMove]:
    """Yield the result for each of ``pods``. Both snapshots are of the same cluster, and neither is changed.

    Each pod is compared alone on the cluster as it is; a bound pod is removed from its node first. With ``sequence``
    each pending pod is placed before the next, on both sides. If both sides can choose the same node they do, so that
    later pods differ because of rules and not by chance. All nodes are searched and extenders are not called. A pod
    whose scheduler name has no profile gets the first profile. Raises ValueError if the nodes differ.
    """
    pair = SchedulerPair(classic.copy(), snapshot.copy(), algorithm, configuration)
    for pod in pods:
        move = pair.compare_pod(pod)
        if sequence and not move.bound_to:
            pair.bind_pod(pod, move)
        yield move


@dataclass(frozen=True, slots=True)
class _SideResult:
    """The answer of one side."""

    side: RuleSide
    # ``None`` if the cycle failed.
    explanation: Explanation | None
    # Positions in the profile's order of nodes; empty if the pod fits nowhere.
    best: NDArray[np.intp]
    node: str = ""
    # The message, if the cycle failed.
    failure: str = ""


NOTHING = np.zeros(0, dtype=np.intp)


class SchedulerPair:
    """The two schedulers over the same cluster. They take over the snapshots."""

    def __init__(
        self, classic: ClassicSnapshot, snapshot: Snapshot, algorithm: Algorithm, configuration: Configuration
    ) -> None:
        if classic.index.keys() != snapshot.index.keys():
            raise ValueError("The two snapshots do not have the same nodes")
        self.classic, self.profile = ClassicScheduler(classic, algorithm), Scheduler(snapshot, configuration)
        # The classic snapshot has its own order of nodes, by zone.
        self._there = np.array([snapshot.index[name] for name in classic.names], dtype=np.intp)

    def bind_pod(self, pod: Pod, move: PodMove) -> None:
        """Put ``pod`` on the node of each side."""
        if move.classic:
            self.classic.bind_pod(pod, move.classic)
        if move.profile:
            self.profile.nominator.delete_nominated_pod(pod.key)
            self.profile.bind_pod(pod, move.profile)

    def compare_pod(self, pod: Pod) -> PodMove:
        """Return the result for ``pod``. A bound pod is treated as if it were pending."""
        ours, theirs = self._explain_by_classic(pod), self._explain_by_profile(pod)
        common = np.intersect1d(ours.best, theirs.best, assume_unique=True)
        numbers = len(ours.best), len(theirs.best)
        if common.size:
            verdict = MoveVerdict.SAME if len(ours.best) == len(theirs.best) == 1 else MoveVerdict.EITHER
            node = self.profile.snapshot.names[int(common[0])]
            return PodMove(pod.key, pod.node_name, verdict, node, node, *numbers)
        if not ours.node and not theirs.node:
            return PodMove(pod.key, pod.node_name, MoveVerdict.NEITHER)
        verdict = MoveVerdict.MOVES
        if not ours.node or not theirs.node:
            verdict = MoveVerdict.ONLY_CLASSIC if ours.node else MoveVerdict.ONLY_PROFILE
        return PodMove(pod.key, pod.node_name, verdict, ours.node, theirs.node, *numbers, _find_rule(ours, theirs))

    def _explain_by_classic(self, pod: Pod) -> _SideResult:
        try:
            explanation = self.classic.explain(pod)
        except CycleError as error:
            return _SideResult(RuleSide.CLASSIC, None, NOTHING, failure=str(error))
        if explanation.chosen is None:
            return _SideResult(RuleSide.CLASSIC, explanation, NOTHING)
        return _SideResult(RuleSide.CLASSIC, explanation, self._there[explanation.best], explanation.node)

    def _explain_by_profile(self, pod: Pod) -> _SideResult:
        if pod.scheduler_name not in self.profile.frameworks:
            pod = pod.under_scheduler(next(iter(self.profile.frameworks)))
        try:
            explanation = self.profile.explain(pod)
        except CycleError as error:
            return _SideResult(RuleSide.PROFILE, None, NOTHING, failure=str(error))
        if explanation.chosen is None or not explanation.pre_enqueue.ok:
            return _SideResult(RuleSide.PROFILE, explanation, NOTHING)
        return _SideResult(RuleSide.PROFILE, explanation, np.array(explanation.best, dtype=np.intp), explanation.node)


def _find_rule(ours: _SideResult, theirs: _SideResult) -> MoveRule:
    """Return the rule that rejects the other side's node, or else the one that prefers its own side's node most."""
    refusals = (_find_rejection(theirs, ours.node), _find_rejection(ours, theirs.node))
    refusal = next((rule for rule in refusals if rule is not None), None)
    return refusal or _find_preference(ours, theirs)


def _find_rejection(answer: _SideResult, node: str) -> MoveRule | None:
    """Return the rule that keeps the pod off ``node`` ("": the other side has none); ``None`` if none does."""
    if not node:
        return None
    explanation = answer.explanation
    if explanation is None:
        return MoveRule("", answer.side, RuleKind.FAILS, answer.failure)
    status = find_rejection(explanation, node) if explanation.pre_enqueue.ok else explanation.pre_enqueue
    if status.ok:
        return None
    kind = RuleKind.FAILS if status.code is Code.ERROR else RuleKind.REJECTS
    return MoveRule(status.plugin, answer.side, kind, status.message)


def _find_preference(ours: _SideResult, theirs: _SideResult) -> MoveRule:
    """Return the rule with the largest share of its side's span; among equals, the classic one."""
    candidates = [*_list_preferences(ours, theirs.node), *_list_preferences(theirs, ours.node)]
    return max(candidates, key=lambda rule: rule.share or 0.0)


def _list_preferences(answer: _SideResult, other: str) -> Iterator[MoveRule]:
    explanation = answer.explanation
    assert explanation is not None
    first, second = (
        int(np.searchsorted(explanation.feasible, explanation.nodes.index(node))) for node in (answer.node, other)
    )
    span = int(explanation.total.max() - explanation.total.min())
    for name, lead in compute_leads(explanation, first, second).items():
        if lead > 0:
            yield MoveRule(name, answer.side, RuleKind.PREFERS, lead=lead, share=lead / span)
