"""Facts about pods for writing to them: the watch updates them, and writing threads read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

Json = dict[str, Any]


class Named(Protocol):
    """A pod, identified by all three."""

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
    """Facts by uid. One thread writes, any number read."""

    def __init__(self) -> None:
        self._facts: dict[str, PodFacts] = {}

    def saw(self, raw: Mapping[str, Any]) -> None:
        """Add or update a pod; ``raw`` is from the API server."""
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
        """Remove pods that are not in ``uids``, after a whole list."""
        for uid in self._facts.keys() - uids:
            self.gone(uid)

    def of(self, uid: str) -> PodFacts:
        """The known facts; empty for an unknown pod."""
        return self._facts.get(uid, UNKNOWN)
