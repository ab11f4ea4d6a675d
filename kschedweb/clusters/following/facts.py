"""What has to be known of pods to write about them: fed from the watch, read by the threads that write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]


class Named(Protocol):
    """Which pod is meant, by all three."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...


class PodFacts(NamedTuple):
    resource_version: str = ""
    generation: int = 0
    conditions: tuple[Json, ...] = ()
    nominated: str = ""
    scheduler_name: str = ""


UNKNOWN = PodFacts()


class KnownPods:
    """Facts by uid. One thread tells, any number read."""

    def __init__(self) -> None:
        self._facts: dict[str, PodFacts] = {}

    def saw(self, raw: Mapping[str, Any]) -> None:
        """The pod came or changed; ``raw`` as the API server sends it."""
        metadata, status, spec = raw["metadata"], raw.get("status") or {}, raw.get("spec") or {}
        self._facts[metadata.get("uid", "")] = PodFacts(
            metadata.get("resourceVersion", ""),
            int(metadata.get("generation") or 0),
            tuple(status.get("conditions") or ()),
            status.get("nominatedNodeName") or "",
            spec.get("schedulerName") or "",
        )

    def gone(self, uid: str) -> None:
        self._facts.pop(uid, None)

    def keep(self, uids: set[str]) -> None:
        """A whole list was read: what is not in it is gone."""
        for uid in self._facts.keys() - uids:
            self.gone(uid)

    def of(self, uid: str) -> PodFacts:
        """What is known; nothing of a pod that was never seen."""
        return self._facts.get(uid, UNKNOWN)
