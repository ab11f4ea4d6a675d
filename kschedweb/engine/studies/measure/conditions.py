"""The conditions that a run must meet so that measures have a value."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.studies.measure.spec import MeasureCondition

BUDGETS = MeasureCondition("disruption budgets", lambda run, resource: bool(run.outcome.budgets))
SCALED = MeasureCondition("scaled workloads", lambda run, resource: bool(run.outcome.scaled))
REQUESTED = MeasureCondition(
    "nodes that have the resource", lambda run, resource: not np.isnan(run.requested_levels(resource)).all()
)
USED = MeasureCondition("figures of real use", lambda run, resource: not np.isnan(run.used_levels(resource)).all())
PRICED = MeasureCondition("prices", lambda run, resource: bool(run.outcome.kinds.currency), "prices")
AUTOSCALED = MeasureCondition(
    "an autoscaler of nodes", lambda run, resource: bool(run.outcome.prices.size), "autoscaler"
)
DESCHEDULED = MeasureCondition("a descheduler", lambda run, resource: bool(run.outcome.rounds), "descheduler")
PLACED_ANEW = MeasureCondition("a cluster placed at one moment", None)
COMPARED = MeasureCondition("another run", None)
