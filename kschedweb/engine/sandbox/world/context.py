"""What kubelets and controllers act with: the store, what belongs to what, the time, and the events that they write."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field
from random import Random
from typing import Protocol

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.failures import Refusal
from kschedweb.engine.sandbox.objects import Objects, timestamp
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.store import Change, Key, Store
from kschedweb.engine.sandbox.world.index import Index
from kschedweb.engine.sandbox.world.recorder import Recorder
from kschedweb.engine.values import dataclass

DOMAIN = "sandbox.kschedweb.dev"


@dataclass
class Context:
    """``time`` is the sandbox's, in seconds; ``random`` is drawn from where it does not matter what comes of it."""

    objects: Objects
    index: Index
    recorder: Recorder
    random: Random
    time: float = 0.0
    touched: set[tuple[str, Key]] = field(default_factory=set)

    @property
    def store(self) -> Store:
        return self.objects.store

    def stamp(self) -> str:
        """Now, as timestamps in objects say it."""
        return timestamp(self.objects.clock())

    def annotate(self, resource: Resource, raw: Json, **parts: Json) -> Json:
        """The object with other annotations (``annotations``; ``None`` takes one away) and ``parts``."""
        annotations = parts.pop("annotations")
        kept = {**(raw["metadata"].get("annotations") or {}), **annotations}
        kept = {key: value for key, value in kept.items() if value is not None}
        metadata = {**raw["metadata"], "annotations": kept}
        if not kept:
            del metadata["annotations"]
        return self.objects.change(resource, raw, metadata=metadata, **parts)

    def delete(self, resource: Resource, raw: Json, seconds: int | None = None) -> None:
        """Delete that very object, unless it is gone or going."""
        metadata = raw["metadata"]
        options: Json = {"preconditions": {"uid": metadata["uid"]}}
        if seconds is not None:
            options["gracePeriodSeconds"] = seconds
        try:
            self.objects.delete(resource, metadata.get("namespace") or "", metadata["name"], options)
        except Refusal as refusal:
            if refusal.code not in (404, 409):
                raise


class Controller(Protocol):
    """Looks at one object after the other. It remembers nothing that it could not read from the store again."""

    def heard(self, change: Change) -> Iterable[Key]:
        """The keys of the objects that are to be looked at after ``change``."""

    def sync(self, key: Key) -> float | None:
        """Do what is to be done about one of them; when (sandbox time) to look again, ``None`` for not by time."""


def annotation(raw: Json, name: str) -> str | None:
    """The annotation of the sandbox's own domain."""
    found = (raw["metadata"].get("annotations") or {}).get(f"{DOMAIN}/{name}")
    return found if isinstance(found, str) else None


def own(**names: str | None) -> dict[str, str | None]:
    """Annotations of the sandbox's own domain: ``own(ends_at="…")``."""
    return {f"{DOMAIN}/{name.replace('_', '-')}": value for name, value in names.items()}


def time_in(raw: Json, name: str) -> float | None:
    """An annotation that is a sandbox time in seconds; ``None`` where it is missing or no finite number."""
    text = annotation(raw, name)
    try:
        time = math.nan if text is None else float(text)
    except ValueError:
        return None
    return time if math.isfinite(time) else None


def owner_reference(resource: Resource, raw: Json) -> Json:
    """What an object says of its controller."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": raw["metadata"]["name"],
        "uid": raw["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
