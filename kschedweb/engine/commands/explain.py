"""The command ``explain``."""

from __future__ import annotations

import argparse

from kschedweb.engine.commands.scheduling import answer_scenarios, configure_scheduling


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mode", choices=("each", "sequence"), help="in place of the scenarios' own mode")
    configure_scheduling(parser)


def answer(options: argparse.Namespace) -> int:
    return answer_scenarios(options, lambda scenario, post: scenario.explain(options.mode, post))
