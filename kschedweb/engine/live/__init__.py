"""kube-scheduler's loop over a real cluster, without the connection: events in, intents out."""

from kschedweb.engine.cycle.search_request import Draw
from kschedweb.engine.framework.decision import Decision, RankedNode
from kschedweb.engine.live.cache_comparison import CacheComparison, FreshListing
from kschedweb.engine.live.intents import (
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    BindPod,
    EvictPod,
    FreeDevices,
    GroupRef,
    HoldPod,
    Intent,
    NominateNode,
    PodRef,
    ReportGroup,
    ReportPod,
    Superseded,
    WaitAtPermit,
)
from kschedweb.engine.live.loop import JudgedPod, LiveLoop, QueueDepths

__all__ = [
    "SCHEDULER_ERROR",
    "UNSCHEDULABLE",
    "BindPod",
    "CacheComparison",
    "Decision",
    "Draw",
    "EvictPod",
    "FreeDevices",
    "FreshListing",
    "GroupRef",
    "HoldPod",
    "Intent",
    "JudgedPod",
    "LiveLoop",
    "NominateNode",
    "PodRef",
    "QueueDepths",
    "RankedNode",
    "ReportGroup",
    "ReportPod",
    "Superseded",
    "WaitAtPermit",
]
