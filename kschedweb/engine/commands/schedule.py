"""The command ``schedule``."""

from __future__ import annotations

import argparse
import time

from kschedweb.engine.commands.scheduling import Asked, answer_scenarios, configure_scheduling
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.objects.access import Json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--summary", action="store_true", help="throughput and latency instead of placements")
    configure_scheduling(parser)


def answer(options: argparse.Namespace) -> int:
    return answer_scenarios(options, _summary if options.summary else _schedule)


def _schedule(scenario: Asked, post: Post | None) -> Json:
    return scenario.schedule(post)


def _summary(scenario: Asked, post: Post | None) -> Json:
    return scenario.summary(time.perf_counter, post)
