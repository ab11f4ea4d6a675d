"""Scenarios put to the real scheduler, many at once, and to the engine."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

from kschedweb.engine.config import Release
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.releases import write_gates
from kschedweb.engine.scenario.reading import ScenarioError
from kschedweb.engine.scenario.scenario import Scenario
from tests.support.kubescheduler import release_of

# The oracle reads all it is asked before it answers, so it cannot be kept open. It starts in 30 ms and then mostly
# waits for its caches, 80 ms a scenario: several of it at once answer sooner.
ORACLES = 8
PART = 12
TIMEOUT = 300

Answer = dict[str, Any]


def failure(text: str) -> Answer:
    """The answer where a scheduler gives none."""
    return {"error": text}


class Reference:
    """The real scheduler's answers, one a scenario; the scenario that ends an oracle is answered with the error."""

    def __init__(self, assets: Path, gates: Mapping[str, bool] | None = None) -> None:
        """``gates``: the feature gates that both the real scheduler and the engine switch."""
        self.command = assets / "oracle"
        self._assets, self._gates = assets, dict(gates or {})

    def with_gates(self, **gates: bool) -> Reference:
        """The same scheduler with these feature gates on or off."""
        return Reference(self._assets, gates)

    @cached_property
    def release(self) -> Release:
        """The release that it is."""
        return release_of(self._assets)

    def with_release(self, scenario: dict) -> dict:
        """The scenario as the engine is asked for the same release's answer."""
        return {**scenario, "release": self.release.name, "featureGates": self._gates}

    def engine_answer(self, mode: str, scenario: dict) -> Answer:
        """Return the engine's answer to one scenario as the same release."""
        return engine_answer(mode, self.with_release(scenario))

    def answers(self, mode: str, scenarios: list[dict]) -> list[Answer]:
        """One answer for each of ``scenarios``; ``mode`` is "explain", "schedule" or "condition"."""
        size = max(1, min(PART, -(-len(scenarios) // ORACLES)))
        parts = [scenarios[first : first + size] for first in range(0, len(scenarios), size)]
        with ThreadPoolExecutor(ORACLES) as pool:
            return [answer for part in pool.map(lambda part: self._part(mode, part), parts) for answer in part]

    def _part(self, mode: str, scenarios: list[dict]) -> list[Answer]:
        answers: list[Answer] = []
        while len(answers) < len(scenarios):
            text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios[len(answers) :])
            process = subprocess.run(
                [self.command, mode],
                input=text,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                env=os.environ | {"ORACLE_FEATURE_GATES": write_gates(self._gates)},
            )
            answers += [json.loads(line) for line in process.stdout.splitlines() if line.strip()]
            if process.returncode and len(answers) < len(scenarios):
                answers.append(failure(process.stderr.strip()))
        return answers


def engine_answer(mode: str, scenario: dict) -> Answer:
    """Return the engine's answer to one scenario."""
    try:
        ready = Scenario.from_text(json.dumps(scenario))
        if mode == "condition":
            return ready.describe_conditions()
        return ready.explain() if mode == "explain" else ready.schedule()
    except (ScenarioError, CycleError) as error:
        return failure(str(error))
