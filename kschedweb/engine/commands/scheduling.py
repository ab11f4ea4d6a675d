"""What ``explain``, ``schedule`` and ``condition`` share: each asks a scheduler about a scenario's pending pods."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kschedweb.engine.commands.lines import InputError, naming_line, say, scenarios, write
from kschedweb.engine.commands.release import configure_release
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases import ReleaseError, files, read_gates
from kschedweb.engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from kschedweb.engine.scenario.classic import ClassicScenario, Registries

Asked: TypeAlias = "Scenario | ClassicScenario"


def configure_scheduling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--extenders", action="store_true", help="ask the extenders of the configurations")
    parser.add_argument(
        "--one-process",
        action="store_true",
        help="what a classic policy registers holds for later ones, as in one process of the original",
    )
    configure_release(parser)


@np.errstate(over="ignore")  # amounts wrap around without a word, as they do in kube-scheduler
def answer_scenarios(options: argparse.Namespace, answer: Callable[[Asked, Post | None], Json]) -> int:
    """Write the answer to each scenario, after the remarks on it. Raises InputError."""
    registries: Registries = {}
    try:
        for number, raw in scenarios():
            with naming_line(number, ReleaseError):
                scenario = _read(raw, options, registries)
            for remark in scenario.remarks:
                say(f"line {number}: {remark}")
            with naming_line(number):
                post = _transport(scenario) if options.extenders else None
                write({**answer(scenario, post), "engine": scenario.engine})
    except PluginError as error:
        raise InputError(str(error)) from None
    return 0


def _read(raw: Json, options: argparse.Namespace, registries: Registries) -> Asked:
    """The scenario as the options say. Raises ReleaseError, ScenarioError, PluginError."""
    if raw.get("classic"):
        from kschedweb.engine.scenario.classic import ClassicScenario

        return ClassicScenario.of(raw, registries if options.one_process else {})
    gates, given = read_gates(options.feature_gates), files.given(options.file)
    return Scenario.of({"release": options.release, "featureGates": gates, "files": given, **raw})


def _transport(scenario: Asked) -> Post:
    from kschedweb.engine.extenders.transport import transport

    return transport(scenario.extenders)
