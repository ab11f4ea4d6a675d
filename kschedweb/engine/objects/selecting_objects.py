"""Objects that select pods, and classes that pods name. They are checked as they come in, so that none fails later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_boolean, get_integer, get_mapping, get_string, get_string_map
from kschedweb.engine.objects.labels import NOTHING, Selector, SelectorError, label_selector
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.taints import read_tolerations
from kschedweb.engine.values import dataclass

SELECTING = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})


@dataclass(frozen=True, slots=True)
class PodDisruptionBudget:
    """A PodDisruptionBudget."""

    namespace: str
    selector: Selector
    # The number of its pods that may still be evicted.
    allowed: int
    # Names of pods whose eviction is under way: they do not count again.
    disrupted: frozenset[str]

    def covers_pod(self, pod: Pod, empty_selector: bool = False) -> bool:
        """Return whether an eviction of ``pod`` counts.

        With ``empty_selector`` a selector without requirements selects all pods, also those without labels.
        """
        if pod.namespace != self.namespace or pod.name in self.disrupted:
            return False
        return (empty_selector or bool(pod.labels and not self.selector.is_empty)) and self.selector.matches(pod.labels)

    @classmethod
    def from_json(cls, raw: Json) -> PodDisruptionBudget:
        """Read a policy/v1 PodDisruptionBudget; an invalid selector selects no pod."""
        status, selector = get_mapping(raw, "status"), NOTHING
        with suppress(SelectorError):
            selector = label_selector(get_mapping(raw, "spec").get("selector"), "spec.selector.")
        return cls(
            namespace=get_string(get_mapping(raw, "metadata"), "namespace", "metadata.") or "default",
            selector=selector,
            allowed=get_integer(status, "disruptionsAllowed", path="status."),
            disrupted=frozenset(get_mapping(status, "disruptedPods", "status.")),
        )


def selected_labels(raw: Json) -> dict[str, str] | None:
    """Return the labels in the selector of a Service or ReplicationController, ``None`` if it has none."""
    spec = get_mapping(raw, "spec")
    return None if spec.get("selector") is None else get_string_map(spec, "selector", "spec.")


def read_selector(raw: Json) -> Selector:
    """Return the selector of an apps/v1 controller; raise SelectorError if Kubernetes cannot parse it."""
    return label_selector(get_mapping(raw, "spec").get("selector"), "spec.selector.")


def selector_content(kind: str, raw: Json) -> object:
    """Return the part of ``raw`` that decides which pods belong together; ``None`` for no such part."""
    if kind == "Namespace":
        return get_mapping(raw, "metadata").get("labels") or {}
    return get_mapping(raw, "spec").get("selector") if kind in SELECTING else None


def check_readable(kind: str, raw: Json) -> None:
    """Read everything that is needed of ``raw`` later; raise ObjectError if it cannot be understood."""
    if (read := _READERS.get(kind)) is not None:
        # The scheduler copes with an invalid selector in its own way.
        with suppress(SelectorError):
            read(raw)


def _read_namespace(raw: Json) -> None:
    get_string_map(get_mapping(raw, "metadata"), "labels", "metadata.")


def _read_priority_class(raw: Json) -> None:
    get_integer(raw, "value")
    get_boolean(raw, "globalDefault")
    get_string(raw, "preemptionPolicy")


def _read_runtime_class(raw: Json) -> None:
    read_quantities(get_mapping(raw, "overhead"), "podFixed", "overhead.")
    scheduling = get_mapping(raw, "scheduling")
    get_string_map(scheduling, "nodeSelector", "scheduling.")
    read_tolerations(scheduling, "tolerations", "scheduling.")


_READERS: dict[str, Callable[[Json], object]] = {
    "DaemonSet": read_selector,
    "Deployment": read_selector,
    "Namespace": _read_namespace,
    "PodDisruptionBudget": PodDisruptionBudget.from_json,
    "PriorityClass": _read_priority_class,
    "ReplicaSet": read_selector,
    "ReplicationController": selected_labels,
    "RuntimeClass": _read_runtime_class,
    "Service": selected_labels,
    "StatefulSet": read_selector,
}
