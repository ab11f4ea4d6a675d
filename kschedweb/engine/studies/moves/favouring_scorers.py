"""Find the score plugin that favours the nodes that pods get."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.pod import Pod

FIT, TIE = "NodeResourcesFit", "the order of equal nodes"
# Landings whose scores are explained: each evaluates all nodes.
MOST_EXPLAINED = 200


class ScorerLog:
    """Count how often each score plugin favoured the node that a pod got."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._explained = 0
        # Scoring strategy of NodeResourcesFit by scheduler name.
        self._strategies = {
            profile.scheduler_name: describe_strategy(scheduler.configuration, profile.scheduler_name)
            for profile in scheduler.configuration.profiles
        }

    def record_scorer(self, pod: Pod, node: str, sources: Set[str], known_as: str = "") -> None:
        """Find the score plugin that favours ``node``, which the pod is about to get, over nodes not in ``sources``.

        ``known_as`` is a name for the pod other than its key.
        """
        if self._explained >= MOST_EXPLAINED:
            return
        self._explained += 1
        try:
            explanation = self._scheduler.explain(pod, as_scheduled=True)
        except CycleError:
            return
        scorer = find_favouring_scorer(explanation, node, sources)
        if scorer == FIT:
            scorer += self._strategies.get(pod.scheduler_name, "")
        self._counts[known_as or pod.key][scorer] += 1

    def scorer_of(self, pod: str) -> str:
        """Return the plugin of the pod; for a pod without a record, the most frequent one."""
        counts = self._counts.get(pod) or sum(self._counts.values(), Counter[str]())
        return counts.most_common(1)[0][0] if counts else ""


def find_favouring_scorer(explanation: Explanation, node: str, sources: Set[str]) -> str:
    """Return the score plugin whose score of ``node`` is most above the average of feasible nodes where pods may stay.

    "" if there is no such node, as pods are evicted from ``sources``. TIE if no score favours ``node``.
    """
    names = [explanation.nodes[place] for place in explanation.feasible.tolist()]
    stay = np.array([name != node and name not in sources for name in names], dtype=np.bool_)
    if node not in names or not stay.any():
        return ""
    chosen = names.index(node)
    gains = {score.plugin: float(score.weighted[chosen] - score.weighted[stay].mean()) for score in explanation.scores}
    best = max(gains, key=lambda name: gains[name], default="")
    return best if best and gains[best] > 0 else TIE


def describe_strategy(configuration: Configuration, scheduler_name: str) -> str:
    """Return the scoring strategy of NodeResourcesFit in a profile, such as " (LeastAllocated)"."""
    profile = configuration.find_profile(scheduler_name)
    arguments = profile.args.get(FIT, {}) if profile is not None else {}
    strategy_type = (arguments.get("scoringStrategy") or {}).get("type")
    return f" ({strategy_type})" if strategy_type else ""
