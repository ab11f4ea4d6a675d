"""Find policies that undo one another: the descheduler evicts pods that kube-scheduler puts back, and so on."""

from __future__ import annotations

from collections import Counter, defaultdict

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.moves.balance import ClusterBalance
from kschedweb.engine.studies.moves.dry_run import RETURNS, UNFIT, Check, DescheduledCluster, DryRun
from kschedweb.engine.studies.moves.favouring_scorers import ScorerLog
from kschedweb.engine.values import dataclass

# Cycles, and seconds from one to the next: the descheduler's own default.
ROUNDS, ROUND_INTERVAL = 5, 300.0


@dataclass(frozen=True, slots=True)
class Round:
    """A cycle of the descheduler and of kube-scheduler."""

    # Evicted pods, those that returned to their node, and those that found no node.
    evicted: int
    returned: int
    unfit: int
    # Evictions of pods that an earlier round had evicted.
    repeated: int
    after: ClusterBalance


@dataclass(frozen=True, slots=True)
class Fight:
    """Pods that a plugin evicts again and again because a score plugin brings them back."""

    # The plugin that evicts them.
    plugin: str
    # The score plugin that favours their nodes most, with its strategy; "" if they fit on no other node.
    scorer: str
    pods: tuple[str, ...]
    workloads: tuple[str, ...]
    # Evictions of the most evicted of the pods.
    times: int

    @property
    def sentence(self) -> str:
        many = len(self.pods)
        subject = f"{many:,} pods" if many > 1 else f"the pod {self.pods[0]}"
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
            f"{self.plugin} evicts {subject} again and again, up to {self.times} times: {undoes} {self.plugin} evicts "
            f"{them}. {change}, or this never settles."
        )


@dataclass(frozen=True, slots=True)
class Rounds:
    """Repeated cycles."""

    # The first cycle in full.
    first: DryRun
    rounds: tuple[Round, ...]
    fights: tuple[Fight, ...]
    # Seconds from one cycle to the next.
    interval: float

    @property
    def settled(self) -> bool:
        return not self.rounds[-1].evicted


def repeat_cycles(
    cluster: DescheduledCluster,
    document: str | Json,
    now: float,
    *,
    max_rounds: int = ROUNDS,
    interval: float = ROUND_INTERVAL,
    check: Check = lambda *progress: None,
) -> Rounds:
    """Run up to ``max_rounds`` cycles, ``interval`` seconds apart from ``now`` on, until one evicts nothing.

    Raise PolicyRefused and SelectorError.
    """
    times, scorer_log = Counter[str](), ScorerLog(cluster.scheduler)
    # The scores of pods matter only from their second eviction on, and explaining them takes long.
    cluster.watch_landings(
        lambda pod, node, sources: scorer_log.record_scorer(pod, node, sources) if times[pod.key] else None
    )
    plugins: dict[str, Counter[str]] = defaultdict(Counter)
    workloads: dict[str, str] = {}
    first, rounds = None, []
    for number in range(max_rounds):
        check("Repeating the cycle", number, max_rounds)
        dry_run = cluster.run(document, now + number * interval)
        first = first or dry_run
        repeated = sum(bool(times[landing.pod]) for landing in dry_run.landings)
        for landing in dry_run.landings:
            times[landing.pod] += 1
            plugins[landing.pod][landing.plugin] += 1
            workloads[landing.pod] = landing.workload
        counts = dry_run.count(RETURNS), dry_run.count(UNFIT)
        rounds.append(Round(len(dry_run.landings), *counts, repeated, dry_run.after))
        if not dry_run.landings:
            break
    assert first is not None
    grouped: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pod, evictions in times.items():
        if evictions > 1:
            (plugin, _), *_ = plugins[pod].most_common(1)
            grouped[plugin, scorer_log.scorer_of(pod)].append(pod)
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
    fights.sort(key=lambda fight: (-len(fight.pods), fight.plugin, fight.scorer))
    return Rounds(first, tuple(rounds), tuple(fights), interval)
