"""VolumeBinding does not score unless the feature gate StorageCapacityScoring is on."""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.columns import Ints, Rows
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SKIP, Status


class VolumeBinding:
    name = "VolumeBinding"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SKIP

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        return np.zeros(cycle.size(rows), dtype=np.int64)
