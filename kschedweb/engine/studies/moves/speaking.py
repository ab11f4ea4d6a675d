"""Which score plugin speaks for the nodes that pods get."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set

import numpy as np

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.pod import Pod

FIT, TIE = "NodeResourcesFit", "the order of equal nodes"
MOST_EXPLAINED = 200  # landings whose scores are worked out


class Spoke:
    """Which score plugin spoke most for the nodes that pods got."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._heard: dict[str, Counter[str]] = defaultdict(Counter)
        self._explained = 0
        self._strategies = {one.scheduler_name: strategy(scheduler.configuration, one.scheduler_name) for one in
                            scheduler.configuration.profiles}  # fmt: skip

    def hear(self, pod: Pod, node: str, sources: Set[str], known: str = "") -> None:
        """Work out who speaks for ``node``, which the pod is about to get, against nodes that are not ``sources``.

        ``known`` is what the pod is known as, where that is not its key.
        """
        if self._explained >= MOST_EXPLAINED:
            return
        self._explained += 1
        try:
            found = self._scheduler.explain(pod, as_run=True)
        except CycleError:
            return
        scorer = favouring(found, node, sources)
        if scorer == FIT:
            scorer += self._strategies.get(pod.scheduler_name, "")
        self._heard[known or pod.key][scorer] += 1

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
