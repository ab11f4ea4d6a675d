"""Read experiments and their results."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from functools import cache, lru_cache
from io import StringIO
from typing import TYPE_CHECKING

import numpy as np
from django.http import Http404

from kschedweb.decisions.selectors import policy_choices, profiles_named
from kschedweb.engine.experiment import UseRecording as EngineRecording
from kschedweb.engine.experiment.policies import DEFAULT, FUTURE, list_trials
from kschedweb.playground.experiments.models import Experiment, Recording, Run
from kschedweb.policies.dialects import WITH_PROFILES
from kschedweb.web import messages
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.policies.models import Revision

# The synthetic recording must never change, or stored results could not be compared.
DEMO_SEED, DEMO_MACHINES = 5, 240
DEMO_TITLE = f"Made-up day of {DEMO_MACHINES} machines"


def experiment_list() -> QuerySet[Experiment]:
    """Return the experiments, newest first."""
    return Experiment.objects.select_related("recording", "job", "created_by").defer("recording__content")


def experiment_get(experiment_id: UUID | str) -> Experiment:
    experiment = experiment_list().filter(pk=experiment_id).first()
    if experiment is None:
        raise Http404("There is no such experiment.")
    return experiment


def recording_list() -> QuerySet[Recording]:
    return Recording.objects.defer("content")


def recording_read(experiment: Experiment) -> EngineRecording:
    """Return the recording that the experiment replays."""
    if experiment.recording_id is None:
        return demo_recording()
    content = Recording.objects.values_list("content", flat=True).get(pk=experiment.recording_id)
    return EngineRecording.from_csv(StringIO(gzip.decompress(bytes(content)).decode(), newline=None))


def recording_bytes(experiment: Experiment) -> bytes:
    """Return the recording that the experiment replays as gzipped CSV text."""
    if experiment.recording_id is None:
        return gzip.compress("\n".join(demo_recording().to_csv_lines()).encode(), mtime=0)
    content = Recording.objects.filter(pk=experiment.recording_id).values_list("content", flat=True).first()
    if content is None:
        raise Http404("There is no such recording.")
    return bytes(content)


@lru_cache(maxsize=1)
def demo_recording() -> EngineRecording:
    """Return the synthetic recording of the site, which is the same every time."""
    return EngineRecording.generate(np.random.default_rng(DEMO_SEED), DEMO_MACHINES)


def list_policies(chosen_policies: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return the policies to choose from: those of the engine's experiment, and the newest revisions of saved ones.

    So are other revisions among ``chosen_policies``, as those of an experiment that is run again.
    """
    built_in = [(name, messages.translate_words(words)) for name, words in _policy_titles().items()]
    choices = dict([*built_in, *policy_choices(WITH_PROFILES)])
    for name in chosen_policies:
        if "@" in name and name not in choices and find_revision(name):
            choices[name] = policy_label(name)
    return list(choices.items())


def find_revision(policy: str) -> Revision | None:
    """Return the saved revision ``policy`` ("name@number"); None if there is none, or if it has no profiles."""
    try:
        return profiles_named(policy)
    except (ApplicationError, Http404):
        return None


def policy_title(policy: str) -> str:
    """Return a policy's name as it stands in a sentence, in English."""
    name, at, number = policy.partition("@")
    return f"{name}, revision {number}" if at else _policy_titles().get(policy, policy)


def policy_label(policy: str) -> str:
    """Return a policy's name as it stands in a sentence, in the language of the reader."""
    return messages.translate_words(policy_title(policy))


@cache
def _policy_titles() -> dict[str, str]:
    """Return the names of the experiment's policies as they stand in a sentence."""
    titles = {DEFAULT: "kube-scheduler's defaults"}
    for plugin, trial in list_trials():
        weighed = f", weight {trial.weight}," if trial.weight != 1 else ""
        titles[trial.name] = trial.title or f"{plugin}{weighed} beside the defaults"
    return {**titles, FUTURE: "Oracle (best possible)"}


@dataclass(frozen=True)
class PolicySeries:
    """The results of one policy over all its seeds."""

    policy: str
    # Seconds between two levels.
    interval: float
    seeds: list[int]
    # float32[seeds, intervals, nodes] in percent.
    levels: np.ndarray
    # Means over the seeds.
    measures: dict[str, float]
    # Versions of the engine that ran it; those of old runs are unknown.
    engines: list[str]

    @property
    def skew(self) -> np.ndarray:
        """Highest less lowest node, the mean over the seeds: [intervals]."""
        spread: np.ndarray = (self.levels.max(axis=2) - self.levels.min(axis=2)).mean(axis=0)
        return spread

    @property
    def hours(self) -> list[float]:
        return [round((place + 1) * self.interval / 3600.0, 3) for place in range(self.levels.shape[1])]


def run_list(experiment: Experiment) -> list[Run]:
    """Return the runs so far, in the order of the experiment's policies and seeds, without their levels."""
    runs = {(run.policy, run.seed): run for run in Run.objects.filter(experiment=experiment).defer("levels")}
    pairs = [(policy, seed) for policy in experiment.policies for seed in experiment.seeds]
    return [runs[pair] for pair in pairs if pair in runs]


def list_series(experiment: Experiment) -> list[PolicySeries]:
    """Return the results so far, in the order of the experiment's policies."""
    runs = list(Run.objects.filter(experiment=experiment))
    series = []
    for policy in experiment.policies:
        of_policy = [run for run in runs if run.policy == policy]
        if of_policy:
            levels = np.array([_read_levels(run) for run in of_policy])
            seeds, engines = [run.seed for run in of_policy], sorted({run.engine for run in of_policy if run.engine})
            series.append(
                PolicySeries(policy, of_policy[0].interval, seeds, levels, _mean_measures(of_policy), engines)
            )
    return series


def _read_levels(run: Run) -> np.ndarray:
    return np.frombuffer(zlib.decompress(bytes(run.levels)), dtype="<f4").reshape(-1, run.nodes)


def _mean_measures(runs: list[Run]) -> dict[str, float]:
    listed: list[dict[str, float]] = [run.measures for run in runs]
    return {name: float(np.mean([measures[name] for measures in listed])) for name in listed[0]}
