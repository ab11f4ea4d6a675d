"""Judge each pod that another scheduler places, on the cluster just before: events go in, judgements come out.

It has no thread, clock or connection: the run feeds it. Watches show bindings in the order in which they were written.
That order may differ by a few milliseconds from the order of the decisions, since binding runs beside scheduling.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.engine.cycle.judgement import Judgement, judge_placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import LiveLoop
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.state.nominator import Nominator

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.state.watermarks.table import Watermarks

POD = "Pod"


@dataclass(frozen=True, slots=True)
class ShadowJudgement:
    """A judgement about a pod that another scheduler placed, or found not to fit."""

    pod: Pod
    # Seconds of the epoch.
    time: float
    judgement: Judgement
    # The other scheduler's message, if it found no node.
    reported_message: str = ""
    # True if the pod got its node before the cluster was observed.
    late: bool = False


class ShadowWatcher:
    """The cluster as the scheduler of ``scheduler_name`` sees it, judged by ``configuration``."""

    def __init__(self, configuration: Configuration, scheduler_name: str) -> None:
        self._loop = LiveLoop(configuration)
        self._configuration, self._name = configuration, scheduler_name
        self._nominator = Nominator()
        self._scheduler: Scheduler | None = None
        # By uid: the last message about a pod without a node.
        self._said: dict[str, str] = {}

    @property
    def size(self) -> tuple[int, int]:
        """Return the numbers of known nodes, and of pods on them."""
        snapshot = self._loop.snapshot
        return len(snapshot), len(snapshot.pods.slots)

    def update_watermarks(self, watermarks: Watermarks | None, now: float) -> None:
        """Take over new measurements of the usage of nodes and workloads."""
        self._loop.update_watermarks(watermarks, now)

    def replace(self, kind: str, items: Iterable[Json], now: float) -> list[ShadowJudgement]:
        """Take over a whole list. Pods that got their node unobserved are judged on the cluster as it was known."""
        listed = list(items)
        judgements: list[ShadowJudgement] = []
        if kind == POD:
            # In the order of their bindings, so that each is judged with those before it.
            for raw in sorted(listed, key=_scheduled_at):
                judgements += self._judge_placed(raw, now, late=True)
        self._loop.replace_objects(kind, listed, now)
        return judgements

    def apply(self, kind: str, raw: Json, now: float) -> list[ShadowJudgement]:
        """Take over an object that was created or changed."""
        # Judge first: once the pod is applied it takes room on its own node.
        judgements = self._judge_placed(raw, now) if kind == POD else []
        self._loop.apply_object(kind, raw, now)
        return judgements

    def delete(self, kind: str, raw: Json, now: float) -> None:
        """Take over a deletion."""
        if kind == POD:
            metadata = raw.get("metadata") or {}
            self._said.pop(str(metadata.get("uid")), None)
            self._nominator.delete_nominated_pod(f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}")
        self._loop.delete_object(kind, raw, now)

    def _judge_placed(self, raw: Json, now: float, *, late: bool = False) -> list[ShadowJudgement]:
        """Return the judgement about a pod that was placed, or found not to fit, since it was last seen."""
        try:
            pod = Pod.from_json(raw)
        except ObjectError:
            return []
        before = self._loop.find_pod(pod.uid)
        if pod.node_name:
            self._said.pop(pod.uid, None)
            self._nominator.delete_nominated_pod(pod.key)
            fresh = before is not None and not before.node_name and pod.scheduler_name == self._name
            return [self._make_judgement(pod, pod.node_name, now, late=late)] if fresh else []
        self._nominator.add_nominated_pod(pod, pod.nominated_node)
        message = unschedulable_message(raw)
        if not message or pod.scheduler_name != self._name or self._said.get(pod.uid) == message:
            return []
        self._said[pod.uid] = message
        return [] if before is None else [self._make_judgement(pod, "", now, message=message, late=late)]

    def _make_judgement(self, pod: Pod, node: str, now: float, *, message: str = "", late: bool) -> ShadowJudgement:
        snapshot = self._loop.snapshot
        snapshot.now = now
        if self._scheduler is None:
            self._scheduler = Scheduler(snapshot, self._configuration, nominator=self._nominator)
        self._scheduler.use_snapshot(snapshot)
        return ShadowJudgement(pod, now, judge_placement(self._scheduler, pod, node), message, late)


def unschedulable_message(raw: Json) -> str:
    """Return why a scheduler found no node for the pod, "" if its condition does not say so."""
    conditions = (raw.get("status") or {}).get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == "PodScheduled":
            rejected = condition.get("status") == "False" and condition.get("reason") == "Unschedulable"
            return str(condition.get("message") or "") if rejected else ""
    return ""


def _scheduled_at(raw: Json) -> str:
    """Return the key that sorts pods by the time of their binding."""
    conditions = (raw.get("status") or {}).get("conditions")
    entries = (item for item in conditions if isinstance(item, dict)) if isinstance(conditions, list) else iter(())
    return next((str(item.get("lastTransitionTime")) for item in entries if item.get("type") == "PodScheduled"), "")
