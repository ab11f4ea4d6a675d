"""Place pods with knowledge of the future: the best that placing alone can reach, without moving a pod."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.experiment.policies import FUTURE, create_profile, load_configuration
from kschedweb.engine.experiment.replay import Progress, ReplayResult, replay_workload
from kschedweb.engine.experiment.workload import ExperimentWorkload
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases import CURRENT
from kschedweb.engine.state.columns import Floats, Ints, Rows

NAME = "KnowsTheFuture"
# Exponent of the use of nodes. The larger it is, the more the fullest nodes count.
POWER = 4


class KnowsTheFuture:
    """Put each pod where nodes stay most even, by the use of all pods over their whole lives.

    Among the nodes with room, take the one where the sum of the use to the power of four grows least. Each
    simulation needs its own, because it remembers what it placed.
    """

    name = NAME

    def __init__(self, workload: ExperimentWorkload) -> None:
        setup = workload.setup
        self._interval = setup.interval
        # Cores that a pod of each deployment uses, float64[deployments, intervals].
        self._wants: Floats = workload.curves[workload.machines] / 100.0 * setup.burst * workload.requests[:, None]
        self._lives = {
            event.pod.key: arrival
            for event, arrival in zip(workload.events, workload.arrivals, strict=True)
            if isinstance(event.pod, Pod)
        }
        # Cores that are used, float64[nodes, intervals].
        self._use: Floats = np.zeros((setup.nodes, self._wants.shape[1]))
        self._cores = float(setup.cores)

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores where less is better, in millionths of what a full node counts."""
        when, pod = self._future_use(cycle.pod)
        now = self._use[rows, when] / self._cores
        growth = (now + pod / self._cores) ** POWER - now**POWER
        scores: Ints = np.round(growth.sum(axis=1) * 1e6).astype(np.int64)
        return scores

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        """Give 100 to the best node and 0 to the worst."""
        worst, best = scores.max(), scores.min()
        normalized: Ints = (100 * (worst - scores)) // max(1, worst - best)
        return normalized

    def reserve(self, cycle: Cycle, node: str) -> Status:
        when, pod = self._future_use(cycle.pod)
        self._use[cycle.snapshot.index[node], when] += pod
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        when, pod = self._future_use(cycle.pod)
        self._use[cycle.snapshot.index[node], when] -= pod

    def _future_use(self, pod: Pod) -> tuple[slice, Floats]:
        """Return the intervals in which the pod runs, and its use in them."""
        arrival = self._lives[pod.key]
        when = slice(int(arrival.time / self._interval), int((arrival.time + arrival.life) / self._interval) + 1)
        return when, self._wants[arrival.deployment, when]


def create_document(weight: int = 1) -> Json:
    """Return the default profile with this plugin; room by requests keeps its own weight, 1."""
    return create_profile({NAME: weight})


def knowing_future(workload: ExperimentWorkload, *, weight: int = 1, progress: Progress | None = None) -> ReplayResult:
    """Replay ``workload``, placed with knowledge of the future."""
    points = frozenset({"score", "reserve"})

    def create_plugin(args: Json) -> KnowsTheFuture:
        return KnowsTheFuture(workload)

    spec = PluginSpec(NAME, points, "Knows what pods will use.", factory=create_plugin)
    config = load_configuration(create_document(weight), CURRENT.with_plugins(spec))
    return replay_workload(workload, config, registry=config.release.factories, progress=progress)


__all__ = ["FUTURE", "KnowsTheFuture", "knowing_future"]
