"""A classic policy against a profile on one cluster: which pods would move, and by which rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.judgement import leads, rejection
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import Code, CycleError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.releases.classic.scheduler import ClassicScheduler
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.state.snapshot import Snapshot


class MoveVerdict(StrEnum):
    """What becomes of a pod when the profile replaces the classic policy."""

    SAME = "same"  # both choose the same node
    EITHER = "either"  # equals are left to turns there and to chance here, and a node is among them on both sides
    MOVES = "moves"  # no node that one could choose is one that the other could
    ONLY_CLASSIC = "only classic"  # it fits only under the classic policy
    ONLY_PROFILE = "only profile"
    NEITHER = "neither"  # it fits nowhere, under neither


class RuleSide(StrEnum):
    """Whose rule it is."""

    CLASSIC = "classic"
    PROFILE = "profile"


class RuleKind(StrEnum):
    """What the rule does."""

    REJECTS = "rejects"  # the node that the other side chooses
    PREFERS = "prefers"  # its own side's node
    FAILS = "fails"  # the cycle ends in an error


@dataclass(frozen=True, slots=True)
class MoveRule:
    """A predicate or priority of the classic policy, or a plugin of the profile; ``name`` is "" where none is to blame.

    One that rejects gives its ``reason`` in the scheduler's words. One that prefers gives its side's node ``lead``
    more weighted points than the other's, which is ``share`` (0 to 1, or above where others speak against it) of its
    side's span: what lies between the lowest and the highest total of the nodes that pass there. So rules of both
    sides are measured by the same length, whatever the scales of their scores and weights.
    """

    name: str
    side: RuleSide
    kind: RuleKind
    reason: str = ""
    lead: int | None = None
    share: float | None = None

    def to_dict(self) -> dict[str, Any]:
        told = {"name": self.name, "side": str(self.side), "kind": str(self.kind)}
        return told | {"reason": self.reason, "lead": self.lead, "share": self.share}


@dataclass(frozen=True, slots=True)
class PodMove:
    """What becomes of one pod, which the snapshot has on ``bound_to`` ("": pending).

    ``classic`` and ``profile`` are the nodes that both choose, "" for none; where the same one is possible, that.
    Each chooses one of ``classic_best`` and ``profile_best`` equal nodes. ``rule`` says why they differ, and is
    ``None`` where they need not.
    """

    pod: str
    bound_to: str
    verdict: MoveVerdict
    classic: str = ""
    profile: str = ""
    classic_best: int = 0
    profile_best: int = 0
    rule: MoveRule | None = None

    @property
    def differs(self) -> bool:
        return self.rule is not None

    def to_dict(self) -> dict[str, Any]:
        names = ("pod", "classic", "profile")
        told: dict[str, Any] = {name: getattr(self, name) for name in names}
        told |= {"boundTo": self.bound_to, "verdict": str(self.verdict)}
        told |= {"classicBest": self.classic_best, "profileBest": self.profile_best}
        return told | {"rule": None if self.rule is None else self.rule.to_dict()}


class Tally:
    """How many pods there are of each verdict, and how many each rule moves or keeps from fitting."""

    def __init__(self) -> None:
        self._verdicts: Counter[MoveVerdict] = Counter()
        self._rules: dict[tuple[str, RuleSide, RuleKind], Counter[MoveVerdict]] = {}

    def add(self, move: PodMove) -> None:
        self._verdicts[move.verdict] += 1
        if (rule := move.rule) is not None:
            self._rules.setdefault((rule.name, rule.side, rule.kind), Counter())[move.verdict] += 1

    def to_dict(self) -> dict[str, Any]:
        """The rules of most pods come first; of ``pods`` so many as ``moves`` says move, the others fit under one."""
        ordered = sorted(self._rules.items(), key=lambda item: (-item[1].total(), item[0]))
        rules = []
        for (name, side, kind), counts in ordered:
            rule = {"name": name, "side": str(side), "kind": str(kind)}
            rules.append({**rule, "pods": counts.total(), "moves": counts[MoveVerdict.MOVES]})
        verdicts = {str(verdict): self._verdicts[verdict] for verdict in MoveVerdict}
        return {"pods": self._verdicts.total(), "verdicts": verdicts, "rules": rules}


def asked(snapshot: Snapshot, *, bound: bool = False, namespaces: Collection[str] = ()) -> list[Pod]:
    """The pods to ask about: those that wait, as a queue has them, and with ``bound`` then those on nodes.

    Of all ``namespaces`` where none is named; those that are being deleted are left out.
    """

    def meant(pod: Pod) -> bool:
        return not pod.terminating and (not namespaces or pod.namespace in namespaces)

    waiting = sorted((pod for pod in snapshot.pending if meant(pod)), key=_turn)
    placed = (pod for pod in snapshot.pods.pods if pod is not None and meant(pod)) if bound else ()
    return [*waiting, *sorted(placed, key=lambda pod: (pod.namespace, pod.name))]


def _turn(pod: Pod) -> tuple[int, str, str]:
    """By priority, then by age: times in UTC sort as text."""
    return -pod.priority, str((pod.raw.get("metadata") or {}).get("creationTimestamp") or ""), pod.key


def moves(
    classic: ClassicSnapshot,
    snapshot: Snapshot,
    algorithm: Algorithm,
    configuration: Configuration,
    pods: Iterable[Pod],
    *,
    sequence: bool = False,
) -> Iterator[PodMove]:
    """What becomes of each of ``pods``, of the same cluster as both schedulers see it; neither snapshot is changed.

    Each by itself on the cluster as it is, a bound one as if it were taken off its node. In ``sequence`` each that
    waits is placed before the next, on both sides; where both can take the same node they do, so that later pods
    differ by what the rules made of earlier ones and not by chance. Every node is looked at, extenders are not asked,
    and a scheduler name that no profile has is that of the first. Raises ValueError where the nodes are not the same.
    """
    pair = Pair(classic.copy(), snapshot.copy(), algorithm, configuration)
    for pod in pods:
        found = pair.move(pod)
        if sequence and not found.bound_to:
            pair.bind(pod, found)
        yield found


@dataclass(frozen=True, slots=True)
class _Answer:
    """One side's: ``best`` are positions in the profile's order of the nodes, none where the pod fits nowhere.

    ``found`` is ``None`` where the cycle failed, as ``failure`` says.
    """

    side: RuleSide
    found: Explanation | None
    best: NDArray[np.intp]
    node: str = ""
    failure: str = ""


NOTHING = np.zeros(0, dtype=np.intp)


class Pair:
    """Both schedulers over the same cluster; the snapshots become theirs."""

    def __init__(
        self, classic: ClassicSnapshot, snapshot: Snapshot, algorithm: Algorithm, configuration: Configuration
    ) -> None:
        if classic.index.keys() != snapshot.index.keys():
            raise ValueError("The two snapshots do not have the same nodes")
        self.classic, self.profile = ClassicScheduler(classic, algorithm), Scheduler(snapshot, configuration)
        self._there = np.array([snapshot.index[name] for name in classic.names], dtype=np.intp)

    def bind(self, pod: Pod, move: PodMove) -> None:
        """Put ``pod`` where either would have it."""
        if move.classic:
            self.classic.bind(pod, move.classic)
        if move.profile:
            self.profile.nominator.remove(pod.key)
            self.profile.bind(pod, move.profile)

    def move(self, pod: Pod) -> PodMove:
        """What becomes of ``pod``; one that is bound is looked at as if it were not."""
        ours, theirs = self._by_classic(pod), self._by_profile(pod)
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
        return PodMove(pod.key, pod.node_name, verdict, ours.node, theirs.node, *numbers, _rule(ours, theirs))

    def _by_classic(self, pod: Pod) -> _Answer:
        try:
            found = self.classic.explain(pod, as_run=True)
        except CycleError as error:
            return _Answer(RuleSide.CLASSIC, None, NOTHING, failure=str(error))
        if found.chosen is None:
            return _Answer(RuleSide.CLASSIC, found, NOTHING)
        return _Answer(RuleSide.CLASSIC, found, self._there[found.best], found.node)

    def _by_profile(self, pod: Pod) -> _Answer:
        if pod.scheduler_name not in self.profile.frameworks:
            pod = pod.under(next(iter(self.profile.frameworks)))
        try:
            found = self.profile.explain(pod)
        except CycleError as error:
            return _Answer(RuleSide.PROFILE, None, NOTHING, failure=str(error))
        if found.chosen is None or not found.pre_enqueue.ok:
            return _Answer(RuleSide.PROFILE, found, NOTHING)
        return _Answer(RuleSide.PROFILE, found, np.array(found.best, dtype=np.intp), found.node)


def _rule(ours: _Answer, theirs: _Answer) -> MoveRule:
    """Why the two differ: what lets the pod not go where the other puts it, else what draws it away from there most."""
    refusals = (_refusal(theirs, ours.node), _refusal(ours, theirs.node))
    refusal = next((rule for rule in refusals if rule is not None), None)
    return refusal or _preference(ours, theirs)


def _refusal(answer: _Answer, node: str) -> MoveRule | None:
    """What keeps the pod off ``node`` ("": nobody asks for one), ``None`` where nothing does."""
    if not node:
        return None
    found = answer.found
    if found is None:
        return MoveRule("", answer.side, RuleKind.FAILS, answer.failure)
    status = rejection(found, node) if found.pre_enqueue.ok else found.pre_enqueue
    if status.ok:
        return None
    kind = RuleKind.FAILS if status.code is Code.ERROR else RuleKind.REJECTS
    return MoveRule(status.plugin, answer.side, kind, status.message)


def _preference(ours: _Answer, theirs: _Answer) -> MoveRule:
    """Of all rules the one that leads its side's node by the largest share of its side's span, the classic's first."""
    candidates = [*_voices(ours, theirs.node), *_voices(theirs, ours.node)]
    return max(candidates, key=lambda rule: rule.share or 0.0)


def _voices(answer: _Answer, other: str) -> Iterator[MoveRule]:
    found = answer.found
    assert found is not None
    first, second = (int(np.searchsorted(found.feasible, found.nodes.index(node))) for node in (answer.node, other))
    span = int(found.total.max() - found.total.min())
    for name, lead in leads(found, first, second).items():
        if lead > 0:
            yield MoveRule(name, answer.side, RuleKind.PREFERS, lead=lead, share=lead / span)
