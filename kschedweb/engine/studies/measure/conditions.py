"""The conditions that a run must meet so that measures have a value."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.studies.measure.spec import Condition

BUDGETS = Condition("disruption budgets", lambda run, resource: bool(run.outcome.budgets))
SCALED = Condition("scaled workloads", lambda run, resource: bool(run.outcome.scaled))
REQUESTED = Condition(
    "nodes that have the resource", lambda run, resource: not np.isnan(run.requested_levels(resource)).all()
)
USED = Condition("figures of real use", lambda run, resource: not np.isnan(run.used_levels(resource)).all())
PRICED = Condition("prices", lambda run, resource: bool(run.outcome.kinds.currency), "prices")
AUTOSCALED = Condition("an autoscaler of nodes", lambda run, resource: bool(run.outcome.prices.size), "autoscaler")
DESCHEDULED = Condition("a descheduler", lambda run, resource: bool(run.outcome.rounds), "descheduler")
PLACED_ANEW = Condition("a cluster placed at one moment", None)
COMPARED = Condition("another run", None)
