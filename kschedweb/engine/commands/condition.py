"""The command ``condition``."""

from __future__ import annotations

import argparse

from kschedweb.engine.commands.scheduling import answer_scenarios, configure_scheduling

configure = configure_scheduling


def answer(options: argparse.Namespace) -> int:
    return answer_scenarios(options, lambda scenario, post: scenario.describe_conditions(post))
