"""kube-scheduler 1.37.2 as a library: a pod and a snapshot in, a decision out.

Standard library and numpy only; no clock, disk, network or randomness that is not passed in.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kschedweb.engine.cycle.placement import Placement
    from kschedweb.engine.cycle.scheduler import Scheduler
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
_MODULES = {
    "cycle.scheduler": ("Scheduler",),
    "cycle.placement": ("Placement",),
    "framework.explanation": ("Explanation", "FilterColumn", "ScoreColumn"),
    "framework.status": ("Code", "Status"),
    "objects": ("Node", "ObjectError", "Pod"),
    "state.snapshot": ("Snapshot",),
}


def __getattr__(name: str) -> Any:
    """Import a name of ``__all__`` when it is used: who runs one part of the engine does not wait for the others."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
