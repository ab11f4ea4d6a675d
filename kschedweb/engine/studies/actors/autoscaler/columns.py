"""Record the actions of an autoscaler of nodes in a run, and the prices of nodes by its offerings."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from kschedweb.engine.simulation.autoscaling.context import AutoscalerAction, AutoscalerSetup
from kschedweb.engine.simulation.context import ActorSetup
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.actors.recording import ActorRecorder, RecordedRun

# Actions that are recorded.
MAX_ACTIONS = 20_000


class AutoscalerRecorder(ActorRecorder):
    """Record launches and removals of nodes."""

    reports: ClassVar[tuple[type, ...]] = (AutoscalerAction,)

    def __init__(self, setup: ActorSetup | None) -> None:
        super().__init__(setup)
        self._actions: list[tuple[float, str, str, str]] = []

    def add_report(self, action: AutoscalerAction, now: float, run: RecordedRun) -> None:
        if len(self._actions) < MAX_ACTIONS:
            self._actions.append((now, action.action, action.node, action.text))

    def build_columns(self, run: RecordedRun) -> dict[str, Any]:
        return {"prices": self._node_prices(run), "autoscaler_actions": list(self._actions)}

    def _node_prices(self, run: RecordedRun) -> Floats:
        """Return the price of an hour of each node, NaN if it is unknown; empty without an autoscaler."""
        if not isinstance(self.setup, AutoscalerSetup):
            return np.zeros(0)
        prices = (self.setup.node_price(run.latest_nodes[name].labels) for name in run.nodes)
        return np.array([math.nan if price is None else price for price in prices], dtype=np.float64)


RECORDER = AutoscalerRecorder
