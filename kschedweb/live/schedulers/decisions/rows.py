"""Convert the engine's decisions to rows."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kschedweb.live.schedulers.models import LiveDecision

if TYPE_CHECKING:
    from kschedweb.engine.live import Decision

# Characters of a message that are stored.
FINAL = 4000


def decision_id(scheduler: uuid.UUID, decision: Decision) -> uuid.UUID:
    """Return the id of the row of ``decision``. It is known before the row exists, so nobody waits for the row."""
    return uuid.uuid5(scheduler, f"{decision.uid}/{decision.attempt}/{decision.time:.6f}")


def to_datetime(seconds: float) -> datetime:
    """Return ``seconds`` of the epoch as the database stores times."""
    return datetime.fromtimestamp(seconds, UTC)


def decision_row(
    scheduler: uuid.UUID, decision: Decision, result: str, *, epoch: int, revision: int, engine: str
) -> LiveDecision:
    """Return the unsaved row of ``decision``; ``engine`` is the engine that decided, as ``Release.engine`` names it."""
    namespace, _, name = decision.pod.partition("/")
    return LiveDecision(
        id=decision_id(scheduler, decision),
        scheduler_id=scheduler,
        at=to_datetime(decision.time),
        namespace=namespace,
        name=name,
        uid=decision.uid,
        attempt=decision.attempt,
        result=result,
        node=decision.node,
        nominated=decision.nominated or "",
        evaluated=decision.evaluated,
        feasible=decision.feasible,
        margin=decision.margin,
        drawn=decision.drawn or None,
        top=[ranked.to_dict() for ranked in decision.top],
        durations=dict(decision.durations),
        rejected_by=list(decision.rejected_by),
        message=decision.message[:FINAL],
        epoch=epoch,
        revision_id=revision,
        engine=engine,
    )
