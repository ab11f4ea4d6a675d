"""Who gets in: admission of pods, and ResourceQuotas, which have controllers try again."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kschedweb.engine.controllers.admission import AdmissionError
from kschedweb.engine.controllers.quotas import Quotas
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.agenda import Agenda
from kschedweb.engine.simulation.result import Result
from kschedweb.engine.state.world import World
from kschedweb.engine.values import dataclass

QUOTA_PLUGIN, AGAIN = "ResourceQuota", "; its controller tries again"
Come = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class _Held:
    """A pod that a quota refused, and that its controller creates again."""

    pod: Pod
    come: Come


class QuotaGate:
    """Lets pods in as quotas have it, where ``plugins`` name ResourceQuota.

    A controller tries again as soon as a pod of the namespace is gone; a real one waits for its backoff as well.
    """

    def __init__(self, world: World, plugins: Collection[str], agenda: Agenda, result: Result) -> None:
        self._quotas = Quotas(world.cluster) if QUOTA_PLUGIN in plugins else None
        self._agenda, self._result = agenda, result
        self._held: dict[str, dict[str, _Held]] = {}  # namespace -> pod
        self._woken: set[str] = set()
        if self._quotas is not None:
            result.refused += [(0.0, problem) for problem in self._quotas.problems]

    def enter(self, pod: Pod, come: Come, now: float, *, checked: bool = False) -> None:
        """Have the pod ``come`` if quotas let it in; one of a controller else later. ``checked``: it was let in."""
        refusal = "" if checked else self._refusal(pod)
        if not refusal:
            self.there(pod)
            come(now)
            return
        self._result.refused.append((now, f"Pod {pod.key}: {refusal}{AGAIN if pod.controller else ''}"))
        if pod.controller:
            self._held.setdefault(pod.namespace, {})[pod.key] = _Held(pod, come)

    def _refusal(self, pod: Pod) -> str:
        """What quotas say against the pod, "" for nothing."""
        try:
            if self._quotas is not None:
                self._quotas.check(pod)
        except AdmissionError as problem:
            return str(problem)
        return ""

    def there(self, pod: Pod) -> None:
        """The pod is there."""
        if self._quotas is not None:
            self._quotas.charge(pod)

    def gone(self, pod: Pod, now: float) -> None:
        """The pod is gone, or its grace period over."""
        space = pod.namespace
        freed = self._quotas is not None and self._quotas.free(pod.key)
        if freed and self._held.get(space) and space not in self._woken:
            self._woken.add(space)
            self._agenda.add(now, lambda time: self._retry(space, time))

    def _retry(self, namespace: str, now: float) -> None:
        self._woken.discard(namespace)
        for key, one in list(self._held[namespace].items()):
            if not self._refusal(one.pod):
                del self._held[namespace][key]
                self.there(one.pod)
                one.come(now)

    def withdraw(self, key: str) -> bool:
        """The pod ``namespace/name`` is not wanted any more; whether it was held."""
        return self._held.get(key.partition("/")[0], {}).pop(key, None) is not None
