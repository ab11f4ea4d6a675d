"""Two policies that undo one another: the descheduler evicts pods which kube-scheduler puts back, and so on."""

from __future__ import annotations

from collections import Counter, defaultdict

from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.moves.landing import RETURNS, UNFIT, Check, DryRun, Ground
from kschedweb.engine.studies.moves.speaking import Spoke
from kschedweb.engine.studies.moves.standing import Standing
from kschedweb.engine.values import dataclass

ROUNDS, EVERY = 5, 300.0  # cycles, and seconds from one to the next: the descheduler's own default


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
    times, spoke = Counter[str](), Spoke(ground.scheduler)
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
