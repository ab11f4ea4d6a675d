"""Judgements as rows."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from kschedweb.live.schedulers.decisions.rows import FINAL, moment
from kschedweb.live.shadow.models import ShadowVerdict

if TYPE_CHECKING:
    from kschedweb.live.shadow.watching import ShadowJudgement

BEST = 5  # names of the best nodes that are kept


def verdict_row(scheduler: uuid.UUID, judged: ShadowJudgement, revision: int, engine: str) -> ShadowVerdict:
    """The unsaved row; ``engine`` is what judged, as ``Release.engine`` has it.

    Two processes that judge the same pod make the same id, so that one row is kept.
    """
    pod, found = judged.pod, judged.judgement
    return ShadowVerdict(
        id=uuid.uuid5(scheduler, f"shadow/{pod.uid}/{found.node}/{judged.said}"),
        scheduler_id=scheduler,
        at=moment(judged.time),
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        verdict=found.verdict.value,
        node=found.node,
        said=judged.said[:FINAL],
        best=list(found.best[:BEST]),
        ties=len(found.best),
        feasible=found.feasible,
        rank=found.rank,
        difference=found.difference,
        plugin=found.plugin,
        differences=found.differences,
        message=found.message[:FINAL],
        late=judged.late,
        revision_id=revision,
        engine=engine,
    )
