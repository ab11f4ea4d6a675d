"""Convert judgements to rows."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kschedweb.live.schedulers.decisions.rows import FINAL, to_datetime
from kschedweb.live.shadow.models import ShadowVerdict

if TYPE_CHECKING:
    from kschedweb.live.shadow.watcher import ShadowJudgement

# Names of the best nodes that are stored.
BEST = 5


def verdict_row(scheduler: uuid.UUID, judged: ShadowJudgement, revision: int, engine: str) -> ShadowVerdict:
    """Return the unsaved row; ``engine`` is the engine that judged, as ``Release.engine`` names it.

    Two processes that judge the same pod make the same id, so that only one row is stored.
    """
    pod, judgement = judged.pod, judged.judgement
    return ShadowVerdict(
        id=uuid.uuid5(scheduler, f"shadow/{pod.uid}/{judgement.node}/{judged.reported_message}"),
        scheduler_id=scheduler,
        at=to_datetime(judged.time),
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        verdict=judgement.verdict.value,
        node=judgement.node,
        said=judged.reported_message[:FINAL],
        best=list(judgement.best[:BEST]),
        ties=len(judgement.best),
        feasible=judgement.feasible,
        rank=judgement.rank,
        difference=judgement.difference,
        plugin=judgement.plugin,
        differences=judgement.differences,
        message=judgement.message[:FINAL],
        late=judged.late,
        revision_id=revision,
        engine=engine,
    )
