"""The devices of a node for the pod of a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.plugins.dynamicresources import DynamicResources
from kschedweb.engine.plugins.dynamicresources.inspecting import inspect_pod

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine.plugins.dynamicresources.inspecting import PodInspection


def inspect_devices(case: Case, node: int) -> PodInspection | None:
    """Inspect the devices of the node at a position. Return None if the pod claims none, or no plugin looks at them.

    It fills caches of the snapshot.
    """
    plugins = case.scheduler.framework(case.pod).points.filter
    plugin = next((candidate for candidate in plugins if isinstance(candidate, DynamicResources)), None)
    if plugin is None:
        return None
    inspection = inspect_pod(case.snapshot, case.pod, case.snapshot.names[node], plugin.features)
    return None if inspection.empty else inspection
