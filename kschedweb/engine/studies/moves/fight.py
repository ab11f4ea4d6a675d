"""Two policies that undo one another: the descheduler evicts pods which kube-scheduler puts back, and so on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.studies.moves.landing import RETURNS, UNFIT, Check, DryRun, Ground
from kschedweb.engine.studies.moves.standing import Standing

ROUNDS, EVERY = 5, 300.0  # cycles, and seconds from one to the next: the descheduler's own default
FIT, TIE = "NodeResourcesFit", "the order of equal nodes"
MOST_EXPLAINED = 200  # landings whose scores are worked out


@dataclass(frozen=True, slots=True)
class Round:
    """One cycle; ``again`` of its evictions are of pods that an earlier round had evicted already."""

    evicted: int
    returned: int
    unfit: int
    again: int
    after: Standing


@dataclass(frozen=True, slots=True)
class Fight:
    """Pods that ``plugin`` evicts, and that ``scorer`` brings back to where it evicts them, again and again.

    ``scorer`` is the score plugin that spoke most for their nodes, with its strategy; "" where they fit on no other.
    ``times`` is how often the most evicted of ``pods`` was evicted.
    """

    plugin: str
    scorer: str
    pods: tuple[str, ...]
    workloads: tuple[str, ...]
    times: int

    @property
    def sentence(self) -> str:
        many = len(self.pods)
        who = f"{many:,} pods" if many > 1 else f"the pod {self.pods[0]}"
        undoes = (
            f"{self.scorer} puts them back where" if self.scorer else "no other node takes them than those from which"
        )
        if many == 1:
            undoes = undoes.replace("them", "it")
        them = "them" if many > 1 else "it"
        change = (
            "Change one of the two" if self.scorer else "Let other nodes take them, or let the descheduler leave them"
        )
        return (
            f"{self.plugin} evicts {who} again and again, up to {self.times} times: {undoes} {self.plugin} evicts "
            f"{them}. {change}, or this never comes to an end."
        )


@dataclass(frozen=True, slots=True)
class Rounds:
    """The first cycle in full, what followed, and who fights. ``settled``: the last round evicted nothing."""

    first: DryRun
    rounds: tuple[Round, ...]
    fights: tuple[Fight, ...]
    every: float

    @property
    def settled(self) -> bool:
        return not self.rounds[-1].evicted


def repeat(
    ground: Ground,
    document: str | Json,
    now: float,
    *,
    most: int = ROUNDS,
    every: float = EVERY,
    check: Check = lambda *progress: None,
) -> Rounds:
    """Run up to ``most`` cycles, one ``every`` seconds from ``now`` on, until one evicts nothing.

    Raises PolicyRefused and SelectorError.
    """
    times, spoke = Counter[str](), _Spoke(ground.scheduler)
    ground.watch(lambda pod, node, sources: spoke.hear(pod, node, sources) if times[pod.key] else None)
    plugins: dict[str, Counter[str]] = defaultdict(Counter)
    workloads: dict[str, str] = {}
    first, rounds = None, []
    for number in range(most):
        check("Repeating the cycle", number, most)
        found = ground.run(document, now + number * every)
        first = first or found
        again = sum(bool(times[one.pod]) for one in found.landings)
        for one in found.landings:
            times[one.pod] += 1
            plugins[one.pod][one.plugin] += 1
            workloads[one.pod] = one.workload
        counts = found.count(RETURNS), found.count(UNFIT)
        rounds.append(Round(len(found.landings), *counts, again, found.after))
        if not found.landings:
            break
    assert first is not None
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pod, evictions in times.items():
        if evictions > 1:
            (plugin, _), *_ = plugins[pod].most_common(1)
            grouped[plugin, spoke.of(pod)].append(pod)
    fights = [
        Fight(
            plugin,
            scorer,
            tuple(pods),
            tuple(sorted({workloads[pod] for pod in pods})),
            max(times[pod] for pod in pods),
        )
        for (plugin, scorer), pods in grouped.items()
    ]
    fights.sort(key=lambda one: (-len(one.pods), one.plugin, one.scorer))
    return Rounds(first, tuple(rounds), tuple(fights), every)


class _Spoke:
    """Which score plugin spoke most for the nodes that pods got."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._heard: dict[str, Counter[str]] = defaultdict(Counter)
        self._explained = 0
        self._strategies = {one.scheduler_name: strategy(scheduler.configuration, one.scheduler_name) for one in
                            scheduler.configuration.profiles}  # fmt: skip

    def hear(self, pod: Pod, node: str, sources: Set[str]) -> None:
        """Work out who speaks for ``node``, which the pod is about to get, against nodes that are not ``sources``."""
        if self._explained >= MOST_EXPLAINED:
            return
        self._explained += 1
        try:
            found = self._scheduler.explain(pod)
        except CycleError:
            return
        scorer = favouring(found, node, sources)
        if scorer == FIT:
            scorer += self._strategies.get(pod.scheduler_name, "")
        self._heard[pod.key][scorer] += 1

    def of(self, pod: str) -> str:
        """That plugin; of a pod that was not looked at, the one of most others."""
        heard = self._heard.get(pod) or sum(self._heard.values(), Counter[str]())
        return heard.most_common(1)[0][0] if heard else ""


def favouring(found: Explanation, node: str, sources: Set[str]) -> str:
    """The score plugin that gives ``node`` most above the average of the nodes that pass and that pods may stay on.

    "" where there is no such node: pods are taken from ``sources``. TIE where no score speaks for ``node``.
    """
    names = [found.nodes[place] for place in found.feasible.tolist()]
    stay = np.array([name != node and name not in sources for name in names], dtype=np.bool_)
    if node not in names or not stay.any():
        return ""
    chosen = names.index(node)
    gains = {one.plugin: float(one.weighted[chosen] - one.weighted[stay].mean()) for one in found.scores}
    best = max(gains, key=lambda name: gains[name], default="")
    return best if best and gains[best] > 0 else TIE


def strategy(configuration: Configuration, scheduler_name: str) -> str:
    """Such as " (LeastAllocated)", as NodeResourcesFit scores in a profile."""
    profile = configuration.profile(scheduler_name)
    arguments = profile.args.get(FIT, {}) if profile is not None else {}
    named = (arguments.get("scoringStrategy") or {}).get("type")
    return f" ({named})" if named else ""
