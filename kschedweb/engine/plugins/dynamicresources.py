"""DynamicResources scores 0 for pods without resource claims, as kube-scheduler's does."""

from __future__ import annotations

from typing import Any

import numpy as np

from kschedweb.engine.columns import Ints, Rows
from kschedweb.engine.framework.interface import Cycle


class DynamicResources:
    name = "DynamicResources"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        return np.zeros(cycle.size(rows), dtype=np.int64)
