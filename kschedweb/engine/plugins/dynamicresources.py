"""DynamicResources has nothing to say about pods without resource claims; claims are not simulated yet.

A pod with claims ends the cycle with an error that names them: kschedweb never guesses which devices a claim gets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.columns import Ints, Rows
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import SKIP, CycleError, error, unschedulable
from kschedweb.engine.objects.access import mapping, objects


class DynamicResources:
    name = "DynamicResources"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        claims = [str(claim.get("name")) for claim in objects(mapping(cycle.pod.raw, "spec"), "resourceClaims")]
        if claims:
            raise CycleError(f"outside the simulation: the pod uses resource claims ({', '.join(claims)})")
        cycle.state[self.name] = claims
        return PreFilterResult(SKIP)

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        """Whether devices could be given back for others; where PreFilter was not reached, nothing is known."""
        if self.name not in cycle.state:
            return PostFilterResult(error("not found"))
        return PostFilterResult(unschedulable("no new claims to deallocate"))

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        return Verdicts.uniform(cycle.size(rows))

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        return np.zeros(cycle.size(rows), dtype=np.int64)
