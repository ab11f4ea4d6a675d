"""The command ``recommend``."""

from __future__ import annotations

import argparse

import numpy as np

from kschedweb.engine.commands.lines import answer_each
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.rightsizing.scenario import recommend_scenario
from kschedweb.engine.scenario.reading import ScenarioError, read_name


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing can be chosen: a history says all."""


@np.errstate(over="ignore")
def answer(options: argparse.Namespace) -> int:
    """Answer each usage history. Raises InputError."""
    return answer_each(_recommend)


def _recommend(raw: Json) -> Json:
    name = read_name(raw)
    try:
        return recommend_scenario(raw)
    except ObjectError as error:
        raise ScenarioError(f"{name}: {error}" if name else str(error)) from None
