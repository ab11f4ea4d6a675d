"""The command ``deschedule``."""

from __future__ import annotations

import argparse
import time

import numpy as np

from kschedweb.engine.commands.lines import answer_each
from kschedweb.engine.commands.options import whole_number
from kschedweb.engine.rebalancing import scenario as rebalancing
from kschedweb.engine.rebalancing.scenario import RUNS, SHUFFLES, DeschedulingError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs",
        type=whole_number,
        default=RUNS,
        help="how many cycles show whether the order of evictions is left to chance",
    )
    parser.add_argument(
        "--shuffles",
        type=whole_number,
        default=SHUFFLES,
        help="how many cycles show whether the order of nodes and pods matters",
    )


@np.errstate(over="ignore")
def answer(options: argparse.Namespace) -> int:
    """Write what the descheduler would evict in each scenario. Raises InputError."""
    runs, shuffles = options.runs, options.shuffles
    return answer_each(
        lambda raw: rebalancing.run_scenario(raw, time.time, runs=runs, shuffles=shuffles), DeschedulingError
    )
