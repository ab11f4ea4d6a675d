"""The means of kubelets and controllers: the store, its index, the time, and the recorder of events."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field
from random import Random
from typing import Protocol

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.api_objects import ApiObjects, format_timestamp
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.store import Key, Store, StoreChange
from kschedweb.engine.sandbox.world.index import ObjectIndex
from kschedweb.engine.sandbox.world.recorder import EventRecorder
from kschedweb.engine.values import dataclass

DOMAIN = "sandbox.kschedweb.dev"


@dataclass
class SandboxContext:
    """The shared state of kubelets and controllers."""

    objects: ApiObjects
    index: ObjectIndex
    recorder: EventRecorder
    # For draws whose outcome does not matter.
    random: Random
    # The sandbox's time, in seconds.
    time: float = 0.0
    touched: set[tuple[str, Key]] = field(default_factory=set)

    @property
    def store(self) -> Store:
        return self.objects.store

    def format_now(self) -> str:
        """Format the current time as timestamps in objects are written."""
        return format_timestamp(self.objects.clock())

    def annotate(self, resource: Resource, raw: Json, **parts: Json) -> Json:
        """Write an object with other annotations and ``parts``; ``None`` removes an annotation."""
        annotations = parts.pop("annotations")
        merged = {**(raw["metadata"].get("annotations") or {}), **annotations}
        merged = {key: value for key, value in merged.items() if value is not None}
        metadata = {**raw["metadata"], "annotations": merged}
        if not merged:
            del metadata["annotations"]
        return self.objects.change_object(resource, raw, metadata=metadata, **parts)

    def delete_object(self, resource: Resource, raw: Json, seconds: int | None = None) -> None:
        """Delete this very object, unless it is gone or going."""
        metadata = raw["metadata"]
        options: Json = {"preconditions": {"uid": metadata["uid"]}}
        if seconds is not None:
            options["gracePeriodSeconds"] = seconds
        try:
            self.objects.delete_object(resource, metadata.get("namespace") or "", metadata["name"], options)
        except ApiRefusal as refusal:
            # Somebody else deleted or replaced the object meanwhile.
            if refusal.code not in (404, 409):
                raise


class Controller(Protocol):
    """Looks at one object after the other. It keeps nothing in memory that it could not read from the store again."""

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        """Yield the keys of the objects to look at after ``change``."""

    def sync(self, key: Key) -> float | None:
        """Do what is due about an object; returns when (sandbox time) to look again, ``None`` for not by time."""


def get_annotation(raw: Json, name: str) -> str | None:
    """Return an annotation of the sandbox's own domain."""
    value = (raw["metadata"].get("annotations") or {}).get(f"{DOMAIN}/{name}")
    return value if isinstance(value, str) else None


def own_annotations(**names: str | None) -> dict[str, str | None]:
    """Return annotations of the sandbox's own domain: ``own_annotations(ends_at="…")``."""
    return {f"{DOMAIN}/{name.replace('_', '-')}": value for name, value in names.items()}


def get_annotation_time(raw: Json, name: str) -> float | None:
    """Read an annotation that is a sandbox time in seconds; returns ``None`` if it is missing or not finite."""
    text = get_annotation(raw, name)
    try:
        time = math.nan if text is None else float(text)
    except ValueError:
        return None
    return time if math.isfinite(time) else None


def owner_reference(resource: Resource, raw: Json) -> Json:
    """Return the reference from an object to its controller."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": raw["metadata"]["name"],
        "uid": raw["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
