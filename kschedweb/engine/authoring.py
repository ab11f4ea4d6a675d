"""The interface for plugins of other packages, in one place (docs/engine.md)."""

from __future__ import annotations

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.types import BOOL, DURATION, FLOAT64, INT32, INT64, STRING, ListType, MapType, StructField
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.groups import Assignment, Domain, GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.interface import Cycle, Handle, PluginScope, PostFilterResult, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, default_normalize, round_half_away
from kschedweb.engine.framework.status import SKIP, SUCCESS, CycleError, Status, error, unresolvable, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.columns import Codes, Floats, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.fields import Problem, child_path, invalid, required

__all__ = [
    "BOOL",
    "DURATION",
    "FLOAT64",
    "INT32",
    "INT64",
    "MAX_NODE_SCORE",
    "SKIP",
    "STRING",
    "SUCCESS",
    "ArgsSpec",
    "Assignment",
    "Codes",
    "Cycle",
    "CycleError",
    "Diagnosis",
    "Domain",
    "Floats",
    "GroupCycle",
    "GroupHandle",
    "GroupRoom",
    "Handle",
    "Ints",
    "ListType",
    "MapType",
    "Mask",
    "PluginArgs",
    "PluginScope",
    "PluginSpec",
    "PluginTrial",
    "Pod",
    "PodGroup",
    "PostFilterResult",
    "PreFilterResult",
    "Problem",
    "Rows",
    "Snapshot",
    "Status",
    "StructField",
    "Verdicts",
    "args_struct",
    "child_path",
    "default_normalize",
    "error",
    "invalid",
    "required",
    "round_half_away",
    "unresolvable",
    "unschedulable",
]
