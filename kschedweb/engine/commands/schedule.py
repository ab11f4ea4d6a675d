"""The command ``schedule``."""

from __future__ import annotations

import argparse
import time

from kschedweb.engine.commands.scheduling import AnyScenario, answer_scenarios, configure_scheduling
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.json_types import Json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--summary", action="store_true", help="throughput and latency instead of placements")
    configure_scheduling(parser)


def answer(options: argparse.Namespace) -> int:
    return answer_scenarios(options, _summarize_scenario if options.summary else _schedule_scenario)


def _schedule_scenario(scenario: AnyScenario, post: Post | None) -> Json:
    return scenario.schedule(post)


def _summarize_scenario(scenario: AnyScenario, post: Post | None) -> Json:
    return scenario.summary(time.perf_counter, post)
