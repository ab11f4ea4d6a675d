"""kube-scheduler's loop over a real cluster, without the connection: events in, intents out."""

from kschedweb.engine.cycle.request import Draw
from kschedweb.engine.framework.decision import Decision, Ranked
from kschedweb.engine.live.comparing import CacheComparison, Fresh
from kschedweb.engine.live.intents import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    Bind,
    Evict,
    Free,
    GroupRef,
    Hold,
    Intent,
    Nominate,
    PodRef,
    Report,
    ReportGroup,
    Superseded,
    Wait,
)
from kschedweb.engine.live.loop import Depths, JudgedPod, LiveLoop

__all__ = [
    "SCHEDULER_ERROR",
    "UNSCHEDULABLE",
    "Bind",
    "CacheComparison",
    "Decision",
    "Depths",
    "Draw",
    "Evict",
    "Free",
    "Fresh",
    "GroupRef",
    "Hold",
    "Intent",
    "JudgedPod",
    "LiveLoop",
    "Nominate",
    "PodRef",
    "Ranked",
    "Report",
    "ReportGroup",
    "Superseded",
    "Wait",
]
