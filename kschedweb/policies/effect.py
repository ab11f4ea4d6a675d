"""What a document that is not saved yet would do to the pending pods of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import pod_rows
from kschedweb.errors import ApplicationError
from kschedweb.playground import services as playground

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.classic import Algorithm
    from kschedweb.engine.config import Configuration

POD_LIMIT = 50
SECONDS = 8.0


@dataclass(frozen=True)
class Moved:
    """A pod that another node would get; "" for none."""

    namespace: str
    name: str
    before: str
    after: str
    reason: str


@dataclass
class Effect:
    """``asked`` of ``pending`` pods were looked at; ``failed`` names those whose cycle fails under one side."""

    pending: int
    asked: int = 0
    moved: list[Moved] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def effect(snapshot: Snapshot, before: Configuration | Algorithm, after: Configuration | Algorithm) -> Effect:
    """Compare both on the first pending pods, each against the cluster as it is now.

    At most ``POD_LIMIT`` pods, and no further one after ``SECONDS``.
    """
    pending = pod_rows(snapshot).filter(pending=True, gated=False)
    result = Effect(pending.count())
    begun = monotonic()
    for namespace, name in pending.values_list("namespace", "name")[:POD_LIMIT]:
        if result.asked and monotonic() - begun > SECONDS:
            break
        result.asked += 1
        key = f"{namespace}/{name}"
        try:
            old = playground.explain_with(snapshot, key, before)
            new = playground.explain_with(snapshot, key, after)
        except ApplicationError as error:
            result.failed.append(f"{key}: {error.detail}")
            continue
        if old.node != new.node:
            result.moved.append(Moved(namespace, name, old.node, new.node, new.message))
    return result
