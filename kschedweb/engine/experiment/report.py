"""Run many policies and seeds, and put the results side by side as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np

from kschedweb.engine.experiment.future import knowing_future
from kschedweb.engine.experiment.moving import Moving
from kschedweb.engine.experiment.policies import (
    DEFAULT,
    FUTURE,
    PolicyError,
    PolicyFile,
    load_configuration,
    load_policy,
)
from kschedweb.engine.experiment.replay import Progress, ReplayResult, replay_workload
from kschedweb.engine.experiment.search import FoundCandidate, create_document
from kschedweb.engine.experiment.workload import HOUR, ExperimentWorkload, Setup
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT
from kschedweb.engine.simulation.recording import UseRecording
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

# Placements where one obstacle after the other is removed, to see what keeps the skew up.
BOUNDS = (DEFAULT, FUTURE, "future, use steady", "future, requests without limit", "future, both")
# Times as much room for requests: as much as all pods may use.
ROOMY = 4


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """One policy with one seed."""

    policy: str
    seed: int
    outcome: ReplayResult
    # Percent of running pods that may be moved an hour.
    moves_an_hour: float = 0.0
    # The kube-scheduler that ran it.
    engine: str = CURRENT.engine

    @property
    def name(self) -> str:
        return f"{self.policy}, {self.moves_an_hour:g} % moved an hour" if self.moves_an_hour else self.policy

    def to_dict(self) -> Json:
        moved = {"movesAnHour": self.moves_an_hour} if self.outcome.moves is not None else {}
        other_engine = {"engine": self.engine} if self.engine != CURRENT.engine else {}
        return {"policy": self.policy, "seed": self.seed, **moved, **other_engine, **self.outcome.to_dict()}

    def iterate_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield (policy, seed, hours, skew, mean, lowest, highest) after each interval."""
        levels = self.outcome.levels
        for place, (low, middle, high) in enumerate(
            zip(levels.min(axis=1), levels.mean(axis=1), levels.max(axis=1), strict=True)
        ):
            hours = (place + 1) * self.outcome.interval / HOUR
            values = (round(float(value), 2) for value in (high - low, middle, low, high))
            yield (self.name, self.seed, round(hours, 4), *values)


def check_policy(name: str, policy: PolicyFile | Json) -> None:
    """Raise PolicyError with the policy's name if the policy cannot be run."""
    try:
        load_policy(policy)
    except PolicyError as error:
        raise PolicyError(f"{name}: {error}") from None


def run_policy(
    task: tuple[ExperimentWorkload, str, PolicyFile | Json | None],
    progress: Progress | None = None,
    moving: Moving | None = None,
) -> ExperimentRun:
    """Replay a workload under a policy with its name; ``None`` stands for knowing the future."""
    workload, name, policy = task
    if policy is None:
        return ExperimentRun(name, workload.seed, knowing_future(workload, progress=progress))
    configuration = load_policy(policy)
    outcome = replay_workload(workload, configuration, progress=progress, moving=moving)
    percent = moving.percent if moving is not None else 0.0
    return ExperimentRun(name, workload.seed, outcome, percent, configuration.release.engine)


def run_moved(task: tuple[ExperimentWorkload, str, PolicyFile | Json | None, Moving | None]) -> ExperimentRun:
    """Do as ``run_policy``, with pods moved meanwhile."""
    return run_policy(task[:3], moving=task[3])


def run_bound(task: tuple[ExperimentWorkload, str]) -> ExperimentRun:
    """Replay a workload without one of the obstacles that keep the skew up."""
    workload, name = task
    if name == DEFAULT:
        return ExperimentRun(name, workload.seed, replay_workload(workload, load_configuration(None)))
    if name in (BOUNDS[2], BOUNDS[4]):
        workload = _with_steady_use(workload)
    if name in (BOUNDS[3], BOUNDS[4]):
        workload = ExperimentWorkload(workload.recording, workload.seed, replace(workload.setup, room=ROOMY))
    return ExperimentRun(name, workload.seed, knowing_future(workload))


def _with_steady_use(workload: ExperimentWorkload) -> ExperimentWorkload:
    """Return the same workload, where each pod uses its machine's mean of the day all the time."""
    recording = workload.recording
    means: Floats = np.broadcast_to(recording.percent.mean(axis=1, keepdims=True), recording.percent.shape).copy()
    return ExperimentWorkload(UseRecording(recording.names, means, recording.step), workload.seed, workload.setup)


def compare_runs(setup: Setup, runs: Sequence[ExperimentRun]) -> Json:
    """Return measures of every run, and by policy their means over seeds and the skew in parts of the default's."""
    base = {run.seed: run.outcome.balance.skew for run in runs if run.name == DEFAULT}
    names = list(dict.fromkeys(run.name for run in runs))
    by_policy = {name: _summarize_runs([run for run in runs if run.name == name], base) for name in names}
    listed = [run.to_dict() for run in runs]
    return {"engine": CURRENT.engine, "setup": setup.to_dict(), "policies": by_policy, "runs": listed}


def _summarize_runs(runs: Sequence[ExperimentRun], base: Mapping[int, float]) -> dict[str, float]:
    means = {name: mean(run.outcome.to_dict()[name] for run in runs) for name in runs[0].outcome.to_dict()}
    comparable = [run for run in runs if base.get(run.seed)]
    if comparable:
        # The ratio of means, so that a seed whose default is low does not count more.
        means["ofDefault"] = mean(run.outcome.balance.skew for run in comparable) / mean(
            base[run.seed] for run in comparable
        )
    return means


def search_result(
    setup: Setup, seeds: Sequence[int], base: Sequence[float], candidates: Sequence[FoundCandidate]
) -> Json:
    """Return the result of a search, with the best candidate as a configuration."""
    return {
        "engine": CURRENT.engine,
        "setup": setup.to_dict(),
        "seeds": list(seeds),
        "default": list(base),
        "best": {**candidates[0].to_dict(), "document": create_document(candidates[0].genes)},
        "candidates": [candidate.to_dict() for candidate in candidates],
    }
