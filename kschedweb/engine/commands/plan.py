"""The command ``plan``."""

from __future__ import annotations

import argparse
import time

import numpy as np

from kschedweb.engine.commands.lines import answer_each
from kschedweb.engine.planning import scenario as planning
from kschedweb.engine.planning.scenario import PlanningError


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing can be chosen: a scenario says all."""


@np.errstate(over="ignore")
def answer(options: argparse.Namespace) -> int:
    """Write the plan for each scenario. Raises InputError."""
    return answer_each(lambda raw: planning.plan_scenario(raw, time.monotonic), PlanningError)
