"""The effect of another policy, which may be unsaved, on the pods of a cluster."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from kschedweb.clusters.selectors import pod_rows
from kschedweb.decisions import services as playground
from kschedweb.decisions.kinds import PROFILES
from kschedweb.engine.cycle.judgement import JudgementReason, why_moved
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.clusters.models import PodRow, Snapshot
    from kschedweb.decisions.decider import Decider
    from kschedweb.engine.config import Configuration
    from kschedweb.engine.releases.classic import Algorithm

POD_LIMIT = 50
SECONDS = 8.0


@dataclass(frozen=True)
class Moved:
    """A pod that gets another node, and why; "" is no node. ``message`` says why no node is feasible ``after``."""

    namespace: str
    name: str
    before: str
    after: str
    reason: JudgementReason
    message: str


@dataclass
class Effect:
    """The result: ``asked`` of ``pods`` were compared; ``failed`` names those whose cycle fails on one side."""

    pods: int
    asked: int = 0
    moved: list[Moved] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def effect(
    snapshot: Snapshot,
    before: Configuration | Algorithm,
    after: Configuration | Algorithm,
    rows: QuerySet[PodRow] | None = None,
    limit: int = POD_LIMIT,
    decides: Decider[Any, Any, Any] = PROFILES,
) -> Effect:
    """Compare ``before`` and ``after`` on the pods ``rows``, each alone against the cluster without it.

    Compares at most ``limit`` pods, and stops after ``SECONDS``. ``decides`` is the decider of both.
    """
    asked = (pod_rows(snapshot).filter(pending=True) if rows is None else rows).filter(gated=False)
    result = Effect(asked.count())
    begun = monotonic()
    for namespace, name in asked.values_list("namespace", "name")[:limit]:
        if result.asked and monotonic() - begun > SECONDS:
            break
        result.asked += 1
        key = f"{namespace}/{name}"
        try:
            old = playground.explain_with(snapshot, key, before, decides)
            new = playground.explain_with(snapshot, key, after, decides)
        except ApplicationError as error:
            result.failed.append(f"{key}: {error.detail}")
            continue
        if reason := why_moved(old, new):
            result.moved.append(Moved(namespace, name, old.node, new.node, reason, new.message))
    return result
