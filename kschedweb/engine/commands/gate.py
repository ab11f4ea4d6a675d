"""The command ``gate``."""

from __future__ import annotations

import argparse

import numpy as np

from kschedweb.engine.commands.lines import InputError
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate import command

configure = command.configure


@np.errstate(over="ignore")
def answer(options: argparse.Namespace) -> int:
    """Write the verdict and return the exit status. Raises InputError."""
    try:
        return command.answer(options)
    except ScenarioError as error:
        raise InputError(command.summarize_error(error)) from None
