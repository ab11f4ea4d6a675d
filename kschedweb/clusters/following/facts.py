"""Facts about pods that writing needs. The watch updates them, and writing threads read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from kschedweb.engine.json_types import Json


class NamedObject(Protocol):
    """A pod or a group of pods, identified by all three attributes."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...


class Preemptor(NamedObject, Protocol):
    """A pod or a group of pods for which others have to go."""

    @property
    def kind(self) -> str: ...


class PodFacts(NamedTuple):
    resource_version: str = ""
    generation: int = 0
    conditions: tuple[Json, ...] = ()
    nominated: str = ""


UNKNOWN = PodFacts()


class KnownPods:
    """Facts by uid. One thread writes, any number of threads read."""

    def __init__(self) -> None:
        self._facts: dict[str, PodFacts] = {}

    def update_pod(self, raw: Mapping[str, Any]) -> None:
        """Add or update a pod; ``raw`` is from the API server."""
        metadata, status = raw["metadata"], raw.get("status") or {}
        self._facts[metadata.get("uid", "")] = PodFacts(
            metadata.get("resourceVersion", ""),
            int(metadata.get("generation") or 0),
            tuple(status.get("conditions") or ()),
            status.get("nominatedNodeName") or "",
        )

    def remove_pod(self, uid: str) -> None:
        self._facts.pop(uid, None)

    def keep_only(self, uids: set[str]) -> None:
        """Remove pods that are not in ``uids``, after a whole list."""
        for uid in self._facts.keys() - uids:
            self.remove_pod(uid)

    def facts_of(self, uid: str) -> PodFacts:
        """Return the known facts; empty for an unknown pod."""
        return self._facts.get(uid, UNKNOWN)
