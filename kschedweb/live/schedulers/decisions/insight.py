"""The insight into the cluster that is stored beside a live decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from kschedweb.decisions.case import Case
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.kept import insight
from kschedweb.decisions.kept.insight import Insight
from kschedweb.decisions.presenters.podtopologyspread import clear_cache

if TYPE_CHECKING:
    from kschedweb.engine.live import JudgedPod

logger = structlog.get_logger(__name__)


def insight_of(judged: JudgedPod, node: str = "") -> Insight:
    """Return the insight into a pod that was judged just now and went to ``node``.

    A failure is logged and gives an empty one: the decision itself holds without it.
    """
    try:
        return insight.build_insight(
            Decision(Case(judged.snapshot, judged.pod, judged.scheduler, judged.explanation, "")), node
        )
    except Exception:
        logger.exception("live_insight_failed", pod=judged.pod.key)
        return Insight()
    finally:
        # The cache is keyed by the snapshot, and the loop goes on changing this one.
        clear_cache()
