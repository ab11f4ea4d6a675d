"""Admission of pods by ResourceQuotas: controllers create refused pods again."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kschedweb.engine.controllers.admission import AdmissionError
from kschedweb.engine.controllers.quotas import Quotas
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.agenda import Agenda
from kschedweb.engine.simulation.result import Result
from kschedweb.engine.state.scheduler_cache import SchedulerCache
from kschedweb.engine.values import dataclass

QUOTA_PLUGIN, RETRY_NOTE = "ResourceQuota", "; its controller tries again"
Come = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class _HeldPod:
    """A pod that a quota refused, and that its controller creates again."""

    pod: Pod
    # Called with the time when it is let in.
    come: Come


class QuotaGate:
    """Lets pods in as quotas allow, if ``plugins`` name ResourceQuota.

    A controller tries again as soon as a pod of the namespace is gone; a real one waits for its backoff as well.
    """

    def __init__(self, world: SchedulerCache, plugins: Collection[str], agenda: Agenda, result: Result) -> None:
        self._quotas = Quotas(world.cluster) if QUOTA_PLUGIN in plugins else None
        self._agenda, self._result = agenda, result
        # namespace -> key -> pod
        self._held: dict[str, dict[str, _HeldPod]] = {}
        # Namespaces whose held pods are tried again at this time already.
        self._woken: set[str] = set()
        if self._quotas is not None:
            result.refused += [(0.0, problem) for problem in self._quotas.problems]

    def admit_pod(self, pod: Pod, come: Come, now: float, *, checked: bool = False) -> None:
        """Call ``come`` if quotas let the pod in; a controller's pod is tried again later.

        ``checked`` means that it was let in before.
        """
        refusal = "" if checked else self._quota_refusal(pod)
        if not refusal:
            self.charge_pod(pod)
            come(now)
            return
        self._result.refused.append((now, f"Pod {pod.key}: {refusal}{RETRY_NOTE if pod.controller else ''}"))
        if pod.controller:
            self._held.setdefault(pod.namespace, {})[pod.key] = _HeldPod(pod, come)

    def _quota_refusal(self, pod: Pod) -> str:
        """Return the quotas' objection to the pod, "" for none."""
        try:
            if self._quotas is not None:
                self._quotas.check_pod(pod)
        except AdmissionError as problem:
            return str(problem)
        return ""

    def charge_pod(self, pod: Pod) -> None:
        """Count a pod that exists."""
        if self._quotas is not None:
            self._quotas.charge_pod(pod)

    def release_pod(self, pod: Pod, now: float) -> None:
        """Count a pod no more: it is gone, or its grace period is over."""
        space = pod.namespace
        freed = self._quotas is not None and self._quotas.free_pod(pod.key)
        if freed and self._held.get(space) and space not in self._woken:
            self._woken.add(space)
            self._agenda.schedule_action(now, lambda time: self._retry_held(space, time))

    def _retry_held(self, namespace: str, now: float) -> None:
        self._woken.discard(namespace)
        for key, held_pod in list(self._held[namespace].items()):
            if not self._quota_refusal(held_pod.pod):
                del self._held[namespace][key]
                self.charge_pod(held_pod.pod)
                held_pod.come(now)

    def withdraw_pod(self, key: str) -> bool:
        """Give up a pod that is not wanted any more; returns true if it was held."""
        return self._held.get(key.partition("/")[0], {}).pop(key, None) is not None
