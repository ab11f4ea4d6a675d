"""The measurement of real use in a simulation, as a collector of metrics has it."""

from __future__ import annotations

from kschedweb.engine.framework.events import NODE, Action, ClusterEvent
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.simulation.use import UseModel
from kschedweb.engine.values import dataclass

# New measurements wake pods as a changed annotation of a node does.
MEASURED = ClusterEvent(NODE, Action.NODE_ANNOTATION)


@dataclass(frozen=True, eq=False)
class MeteringSetup(ActorSetup):
    """A model of real use; it serves for one simulation, since its figures depend on the pods that ran."""

    use: UseModel

    def join(self, context: SimulationContext) -> Actor:
        return Metering(self.use, context)


class Metering(Actor):
    """Tells the model which pods run, and gives the snapshot its watermarks at each interval."""

    is_watching = True

    def __init__(self, use: UseModel, context: SimulationContext) -> None:
        self.use, self._context, self._pods = use, context, context.pods
        # The first measurement comes before the events of its time.
        context.schedule_background(0.0, self._measure_use)

    def on_initial_pod(self, pod: Pod) -> None:
        self.use.add_pod(pod, 0.0)

    def on_pod_ready(self, life: PodLife, now: float) -> None:
        self.use.add_pod(life.pod, now)

    def on_pod_removed(self, life: PodLife, now: float) -> None:
        if life.bound is not None:
            self.use.remove_pod(life.pod, now)

    def _measure_use(self, now: float) -> None:
        pods, measured = self._pods, self.use.measured(now)
        pods.world.set_watermarks(measured)
        pods.observer.measured(measured, now)
        if (node := next(iter(pods.world.nodes.values()), None)) is not None:
            # Measurements arrive like annotations of nodes: a pod that was rejected by the old ones may fit now.
            pods.queue.move_all_to_active_or_backoff(MEASURED, node, node, now)
        self._context.schedule_background(now + self.use.interval, self._measure_use)
