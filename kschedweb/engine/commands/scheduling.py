"""Parts of ``explain``, ``schedule`` and ``condition``: each asks a scheduler about a scenario's pending pods."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kschedweb.engine.commands.lines import InputError, naming_line, read_scenarios, write_answer, write_remark
from kschedweb.engine.commands.release import configure_release
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import ReleaseError, files, read_gates
from kschedweb.engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from kschedweb.engine.scenario.classic import ClassicScenario, Registries

AnyScenario: TypeAlias = "Scenario | ClassicScenario"


def configure_scheduling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--extenders", action="store_true", help="ask the extenders of the configurations")
    parser.add_argument(
        "--one-process",
        action="store_true",
        help="what a classic policy registers holds for later ones, as in one process of the original",
    )
    configure_release(parser)


@np.errstate(over="ignore")  # amounts wrap around without a word, as they do in kube-scheduler
def answer_scenarios(options: argparse.Namespace, answer: Callable[[AnyScenario, Post | None], Json]) -> int:
    """Write the answer to each scenario, after the remarks on it. Raises InputError."""
    registries: Registries = {}
    try:
        for number, raw in read_scenarios():
            with naming_line(number, ReleaseError):
                scenario = _read_scenario(raw, options, registries)
            for remark in scenario.remarks:
                write_remark(f"line {number}: {remark}")
            with naming_line(number):
                post = _make_transport(scenario) if options.extenders else None
                write_answer({**answer(scenario, post), "engine": scenario.engine})
    except PluginError as error:
        raise InputError(str(error)) from None
    return 0


def _read_scenario(raw: Json, options: argparse.Namespace, registries: Registries) -> AnyScenario:
    """The scenario as the options say. Raises ReleaseError, ScenarioError, PluginError."""
    if raw.get("classic"):
        from kschedweb.engine.scenario.classic import ClassicScenario

        return ClassicScenario.from_json(raw, registries if options.one_process else {})
    gates, given_files = read_gates(options.feature_gates), files.read_files(options.file)
    return Scenario.from_json({"release": options.release, "featureGates": gates, "files": given_files, **raw})


def _make_transport(scenario: AnyScenario) -> Post:
    from kschedweb.engine.extenders.transport import create_post

    return create_post(scenario.extenders)
