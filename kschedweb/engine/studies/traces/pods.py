"""Recorded pods before they become events."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

# Characters that names in Kubernetes do not have.
_OTHER = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class TracePod:
    """A pod of a trace. Times are in seconds."""

    # The pod without a node.
    raw: Json
    # When it arrived.
    at: float
    # How long it runs after it is bound; None: for ever.
    life: float | None = None
    # When it leaves, bound or not; None: it does not leave before its life is over.
    leaves: float | None = None


class PodSpecs:
    """Create pods. Pods with equal requests share one spec, which saves memory and time."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Json] = {}

    def create_pod(
        self,
        name: str,
        namespace: str,
        labels: Mapping[str, str],
        requests: Mapping[str, str],
        limits: Mapping[str, str],
        more: Json | None = None,
    ) -> Json:
        key = (tuple(requests.items()), tuple(limits.items()), repr(more))
        spec = self._known.get(key)
        if spec is None:
            resources = {"requests": dict(requests), **({"limits": dict(limits)} if limits else {})}
            spec = self._known[key] = {"containers": [{"name": "main", "resources": resources}], **(more or {})}
        metadata = {"name": name, "namespace": namespace, "labels": dict(labels)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def object_name(text: str) -> str:
    """Return ``text`` as a Kubernetes name: lower-case letters, digits, dots and hyphens; "" if nothing remains."""
    return _OTHER.sub("-", text.strip().lower())[:253].strip("-.")
