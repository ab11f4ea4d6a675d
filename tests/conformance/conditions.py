"""The text of a pod's condition, with what PostFilter added, as the engine writes it."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.scenario import Scenario, ScenarioError

Json = dict[str, Any]


def condition(scenario: Json) -> Json:
    """The answer of ``oracle condition``: each pod's node, or its message and the node nominated for it."""
    try:
        ready = Scenario.parse(json.dumps(scenario))
        pods = []
        for pod in ready.pending:
            scheduler = ready.scheduler(None)
            found = scheduler.find(pod, SearchRequest(post_filter=True))
            said: Json = {"pod": pod.key}
            if found.node:
                said["node"] = found.node
            else:
                said["message"] = found.condition
                if found.nominated:
                    said["nominated"] = found.nominated
            pods.append(said)
    except (ScenarioError, CycleError) as error:
        return {"error": str(error)}
    return {"name": ready.name, "pods": pods}
