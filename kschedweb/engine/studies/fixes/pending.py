"""All pending pods by cause, each cause with its fixes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.studies.fixes.answers import Cause, PodAnswer, PodState, answer_pod
from kschedweb.engine.studies.fixes.changes import ReadQueues
from kschedweb.engine.values import dataclass

# What needs somebody comes first.
ORDER = (PodState.STUCK, PodState.GATED, PodState.ELSEWHERE, PodState.FAILED, PodState.FITS)
# Called before each kind of pods with how many are done; may raise to stop.
ReportProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class PendingGroup:
    """Pending pods with one cause. The answer is that of the first of them."""

    answer: PodAnswer
    pods: tuple[str, ...]

    def to_dict(self) -> Json:
        return {
            "state": str(self.answer.state),
            "count": len(self.pods),
            "pods": list(self.pods),
            "example": self.answer.to_dict(),
        }


def group_pending(
    scheduler: Scheduler,
    pods: Sequence[Pod],
    *,
    fixes: bool = True,
    on_progress: ReportProgress | None = None,
    read_queues: ReadQueues | None = None,
) -> list[PendingGroup]:
    """Return ``pods`` in groups with the same causes, the largest first.

    Pods that plugins cannot tell apart share one answer, and the fixes of a group are those of its first pod.
    ``read_queues`` returns Kueue's queues.
    """
    by_signature: dict[object, list[Pod]] = {}
    for pod in pods:
        by_signature.setdefault(pod.signature, []).append(pod)
    groups: dict[tuple[object, ...], list[tuple[PodAnswer, list[Pod]]]] = {}
    for number, members in enumerate(by_signature.values()):
        if on_progress is not None:
            on_progress(number, len(by_signature))
        answer = answer_pod(scheduler, members[0], fixes=False)
        causes = tuple(sorted((cause.plugin, _cause_key(cause)) for cause in answer.causes))
        gate_message = answer.message if answer.state is PodState.GATED else ""
        groups.setdefault((answer.state, causes, gate_message, answer.scheduler), []).append((answer, members))
    merged = []
    for entries in groups.values():
        entries.sort(key=lambda entry: -len(entry[1]))
        answer, members = entries[0]
        if fixes and answer.state is not PodState.FITS:
            answer = answer_pod(scheduler, members[0], read_queues=read_queues)
        merged.append(PendingGroup(answer, tuple(pod.key for _, pods_of_kind in entries for pod in pods_of_kind)))
    return sorted(merged, key=lambda group: (ORDER.index(group.answer.state), -len(group.pods)))


def _cause_key(cause: Cause) -> str:
    """Return what pods of one group share: of resources the name alone, as amounts differ from pod to pod."""
    return cause.reason if cause.plugin == "NodeResourcesFit" else cause.text
