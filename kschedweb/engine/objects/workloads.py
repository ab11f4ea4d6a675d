"""What selects pods, and the classes that pods name: read when they come in, so that none is found broken later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kschedweb.engine.objects.access import Json, boolean, integer, mapping, string_map, text
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_list
from kschedweb.engine.objects.taints import read_tolerations
from kschedweb.engine.values import dataclass

SELECTING = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: how many of the pods it means may still be evicted."""

    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]

    def means(self, pod: Pod) -> bool:
        if pod.namespace != self.namespace or not pod.labels or pod.name in self.disrupted:
            return False
        return not self.selector.empty and self.selector.matches(pod.labels)

    @classmethod
    def read(cls, raw: Json) -> Budget:
        """A policy/v1 PodDisruptionBudget; one whose selector Kubernetes cannot parse means no pod."""
        status, selector = mapping(raw, "status"), NOTHING
        with suppress(SelectorError):
            selector = label_selector(mapping(raw, "spec").get("selector"), "spec.selector.")
        return cls(
            namespace=text(mapping(raw, "metadata"), "namespace", "metadata.") or "default",
            selector=selector,
            allowed=integer(status, "disruptionsAllowed", path="status."),
            disrupted=frozenset(mapping(status, "disruptedPods", "status.")),
        )


def selected_labels(raw: Json) -> dict[str, str] | None:
    """The labels in the selector of a Service or ReplicationController, ``None`` where it has no selector."""
    spec = mapping(raw, "spec")
    return None if spec.get("selector") is None else string_map(spec, "selector", "spec.")


def selector_of(raw: Json) -> Selector:
    """The selector of a controller of apps/v1; raises SelectorError where Kubernetes cannot parse it."""
    return label_selector(mapping(raw, "spec").get("selector"), "spec.selector.")


def selection(kind: str, raw: Json) -> object:
    """What of ``raw`` says which pods belong together: equal for objects that say the same; ``None`` for nothing."""
    if kind == "Namespace":
        return mapping(raw, "metadata").get("labels") or {}
    return mapping(raw, "spec").get("selector") if kind in SELECTING else None


def check(kind: str, raw: Json) -> None:
    """Read whatever will be asked of ``raw`` later; raises ObjectError where it cannot be understood."""
    if (read := _READERS.get(kind)) is not None:
        with suppress(SelectorError):  # which has its own meaning to the scheduler
            read(raw)


def _read_namespace(raw: Json) -> None:
    string_map(mapping(raw, "metadata"), "labels", "metadata.")


def _read_priority_class(raw: Json) -> None:
    integer(raw, "value")
    boolean(raw, "globalDefault")
    text(raw, "preemptionPolicy")


def _read_runtime_class(raw: Json) -> None:
    read_list(mapping(raw, "overhead"), "podFixed", "overhead.")
    scheduling = mapping(raw, "scheduling")
    string_map(scheduling, "nodeSelector", "scheduling.")
    read_tolerations(scheduling, "tolerations", "scheduling.")


_READERS: dict[str, Callable[[Json], object]] = {
    "DaemonSet": selector_of,
    "Deployment": selector_of,
    "Namespace": _read_namespace,
    "PodDisruptionBudget": Budget.read,
    "PriorityClass": _read_priority_class,
    "ReplicaSet": selector_of,
    "ReplicationController": selected_labels,
    "RuntimeClass": _read_runtime_class,
    "Service": selected_labels,
    "StatefulSet": selector_of,
}
