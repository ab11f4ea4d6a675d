"""Admission of pods: the API server's plugins, and quotas, whose refused pods controllers create again."""

from __future__ import annotations

from kschedweb.engine.controllers.admission import AdmissionError, admit_pod
from kschedweb.engine.controllers.quotas import Quotas
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation.actors import Actor
from kschedweb.engine.simulation.agenda import Action
from kschedweb.engine.simulation.context import ActorSetup, SimulationContext
from kschedweb.engine.simulation.pod_life import PodLife
from kschedweb.engine.values import dataclass

QUOTA_PLUGIN, RETRY_NOTE = "ResourceQuota", "; its controller tries again"


@dataclass(frozen=True, slots=True)
class _HeldPod:
    """A pod that a quota refused, and that its controller creates again."""

    pod: Pod
    let_in: Action


class AdmissionSetup(ActorSetup):
    """The admission plugins that the settings of a simulation turn on."""

    def join(self, context: SimulationContext) -> Actor:
        return PodAdmission(context)


class PodAdmission(Actor):
    """Lets pods in as admission plugins and quotas allow.

    A controller tries again as soon as a pod of the namespace is gone; a real one waits for its backoff as well.
    """

    def __init__(self, context: SimulationContext) -> None:
        self._context, self._plugins = context, context.admission
        self._cluster, self._refused = context.pods.world.cluster, context.pods.result.refused
        self._quotas = Quotas(self._cluster) if QUOTA_PLUGIN in self._plugins else None
        # namespace -> key -> pod
        self._held: dict[str, dict[str, _HeldPod]] = {}
        # Namespaces whose held pods are tried again at this time already.
        self._woken: set[str] = set()
        if self._quotas is not None:
            self._refused += [(0.0, problem) for problem in self._quotas.problems]

    def admit_object(self, raw: Json) -> Json:
        return admit_pod(raw, self._cluster, self._plugins)

    def hold_pod(self, pod: Pod, let_in: Action, now: float, *, checked: bool) -> bool:
        """Keep the pod out if a quota refuses it; a controller's pod is tried again later."""
        refusal = "" if checked else self._quota_refusal(pod)
        if not refusal:
            self.on_initial_pod(pod)
            return False
        self._refused.append((now, f"Pod {pod.key}: {refusal}{RETRY_NOTE if pod.controller else ''}"))
        if pod.controller:
            self._held.setdefault(pod.namespace, {})[pod.key] = _HeldPod(pod, let_in)
        return True

    def _quota_refusal(self, pod: Pod) -> str:
        """Return the quotas' objection to the pod, "" for none."""
        try:
            if self._quotas is not None:
                self._quotas.check_pod(pod)
        except AdmissionError as problem:
            return str(problem)
        return ""

    def on_initial_pod(self, pod: Pod) -> None:
        """Count a pod that exists."""
        if self._quotas is not None:
            self._quotas.charge_pod(pod)

    def on_pod_overdue(self, life: PodLife, now: float) -> None:
        """Count the pod no more, as quotas do once its grace period is over."""
        self.on_pod_removed(life, now)

    def on_pod_removed(self, life: PodLife, now: float) -> None:
        """Count the pod no more."""
        space = life.pod.namespace
        freed = self._quotas is not None and self._quotas.free_pod(life.pod.key)
        if freed and self._held.get(space) and space not in self._woken:
            self._woken.add(space)
            self._context.schedule_action(now, lambda time: self._retry_held(space, time))

    def _retry_held(self, namespace: str, now: float) -> None:
        self._woken.discard(namespace)
        for key, held_pod in list(self._held[namespace].items()):
            if not self._quota_refusal(held_pod.pod):
                del self._held[namespace][key]
                self.on_initial_pod(held_pod.pod)
                held_pod.let_in(now)

    def withdraw_pod(self, key: str) -> bool:
        return self._held.get(key.partition("/")[0], {}).pop(key, None) is not None
