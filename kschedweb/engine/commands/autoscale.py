"""The command ``autoscale``."""

from __future__ import annotations

import argparse
import time

import numpy as np

from kschedweb.engine.autoscaling import scenario as autoscaling
from kschedweb.engine.autoscaling.scenario import RUNS, AutoscalingError
from kschedweb.engine.commands.lines import answer_each
from kschedweb.engine.commands.options import whole_number


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=whole_number, default=RUNS, help="how many runs show what is left to chance")


@np.errstate(over="ignore")
def answer(options: argparse.Namespace) -> int:
    """Write what Karpenter would do in each scenario. Raises InputError."""
    return answer_each(lambda raw: autoscaling.answer_scenario(raw, time.time, runs=options.runs), AutoscalingError)
