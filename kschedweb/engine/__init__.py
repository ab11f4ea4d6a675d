"""kube-scheduler 1.37.2 as a library: a pod and a snapshot in, a decision out.

Standard library and numpy only; no clock, disk, network or randomness that is not passed in.
"""

from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.framework.explanation import Explanation, FilterColumn, ScoreColumn
from kschedweb.engine.framework.status import Code, Status
from kschedweb.engine.objects import Node, ObjectError, Pod
from kschedweb.engine.state.snapshot import Snapshot

__all__ = [
    "Code",
    "Explanation",
    "FilterColumn",
    "Node",
    "ObjectError",
    "Placement",
    "Pod",
    "Scheduler",
    "ScoreColumn",
    "Snapshot",
    "Status",
]
