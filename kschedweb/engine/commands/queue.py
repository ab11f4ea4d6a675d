"""The command ``queue``."""

from __future__ import annotations

import argparse

from kschedweb.engine.commands.lines import answer_each
from kschedweb.engine.queueing.scenario import QueueingError, answer_scenario


def configure(parser: argparse.ArgumentParser) -> None:
    """Kueue has no options here: a scenario has its own."""


def answer(options: argparse.Namespace) -> int:
    """Write what Kueue makes of each scenario. Raises InputError."""
    return answer_each(answer_scenario, QueueingError)
