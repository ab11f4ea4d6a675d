"""Start experiments and run them."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Sequence
from io import StringIO
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.decisions.selectors import profiles_named
from kschedweb.engine.experiment import (
    ExperimentWorkload,
    RecordingError,
    ReplayResult,
    Setup,
    SetupError,
    replay_workload,
)
from kschedweb.engine.experiment import UseRecording as EngineRecording
from kschedweb.engine.experiment.future import knowing_future
from kschedweb.engine.experiment.policies import FUTURE, PolicyError, engine_of, list_policies, load_configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation import SimulationError
from kschedweb.jobs.models import ENDED
from kschedweb.jobs.services import job_start
from kschedweb.playground.experiments import selectors
from kschedweb.playground.experiments.models import Experiment, Recording, Run
from kschedweb.policies.selectors import load_configuration as of_revision
from kschedweb.web.errors import ApplicationError, Conflict, NotFound, TooLarge, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.engine.config import Configuration

# Limits of one experiment; the last one is of pods at a time.
MOST_POLICIES, MOST_SEEDS, MOST_NODES, MOST_PODS = 12, 5, 200, 20_000
Progress = Callable[[float], None]
Step = Callable[[str, int, int], None]


@transaction.atomic
def recording_add(*, user: User | None, name: str, content: bytes, limit: int) -> Recording:
    """Store an uploaded recording (CSV, possibly gzipped) as ``name``, which must be new."""
    if Recording.objects.filter(name=name).exists():
        raise ApplicationError.at("recording_name", f"There is a recording named {name} already: choose another name.")
    text = _decode_text(content, limit)
    try:
        read = EngineRecording.from_csv(StringIO(text, newline=None))
    except RecordingError as error:
        raise ApplicationError.at("file", f"The file is no recording: {error}.") from None
    machines, samples = read.percent.shape
    recording = Recording.objects.create(
        name=name, content=gzip.compress(text.encode()), machines=machines, samples=samples, created_by=user
    )
    audit.record(user, "recording.added", recording, name, machines=machines)
    return recording


def _decode_text(content: bytes, limit: int) -> str:
    """Return the text of an upload, decompressed if it is gzip; raise TooLarge beyond ``limit`` bytes."""
    try:
        if content.startswith(b"\x1f\x8b"):
            # 31 means a gzip header with the largest window. The reader stops one byte beyond the limit, so that a
            # small file cannot unpack to fill the memory.
            reader = zlib.decompressobj(31)
            content = reader.decompress(content, limit + 1)
        if len(content) > limit:
            message = f"The file is larger than this site takes ({limit // 1024 // 1024} MiB)."
            raise TooLarge.at("file", message)
        return content.decode()
    except (zlib.error, UnicodeDecodeError):
        raise ApplicationError.at("file", "The file is neither CSV text nor gzipped CSV text.") from None


@transaction.atomic
def experiment_start(
    *,
    user: User | None,
    recording: Recording | None,
    policies: Sequence[str],
    seeds: Sequence[int],
    setup: Json,
    id: UUID | None = None,
) -> Experiment:
    """Start to replay ``recording`` (``None``: the synthetic one) under each of ``policies`` with each seed.

    ``id`` is for an example of the site.
    """
    experiment = Experiment(
        id=id or uuid4(),
        recording=recording,
        policies=list(dict.fromkeys(policies)),
        seeds=list(dict.fromkeys(seeds)),
        setup=setup,
        created_by=user,
    )
    _check_experiment(experiment)
    experiment.save()
    recording_title = recording.name if recording else selectors.DEMO_TITLE.lower()
    title = f"Experiment: {len(experiment.policies)} policies on {recording_title}"
    experiment.job = job_start("experiments.run", title=title, params={"experiment": str(experiment.pk)}, user=user)
    experiment.save(update_fields=["job"])
    audit.record(user, "experiment.started", experiment, title)
    return experiment


@transaction.atomic
def experiment_delete(*, user: User | None, experiment: Experiment) -> None:
    """Delete an experiment with its runs. Raise Conflict while it runs. Its recording stays."""
    if experiment.job is not None and experiment.job.state not in ENDED:
        raise Conflict("The experiment is still running: cancel its job first.")
    audit.record(user, "experiment.deleted", experiment, f"{len(experiment.policies)} policies")
    experiment.delete()


def _check_experiment(experiment: Experiment) -> None:
    """Raise ApplicationError with the field if the experiment cannot be run."""
    if not 1 <= len(experiment.policies) <= MOST_POLICIES:
        raise ApplicationError.at("policies", f"Choose from 1 to {MOST_POLICIES} policies.")
    if not 1 <= len(experiment.seeds) <= MOST_SEEDS or not all(0 <= seed < 2**31 for seed in experiment.seeds):
        raise ApplicationError.at("seeds", f"Enter from 1 to {MOST_SEEDS} whole numbers, 0 or more.")
    for policy in experiment.policies:
        try:
            _load_configuration(policy, 1)
        except NotFound as error:
            raise ApplicationError.at("policies", error.detail) from None
        except PolicyError as error:
            raise ApplicationError.at("policies", f"{selectors.policy_title(policy)}: {error}") from None
    try:
        setup = Setup.from_values(experiment.setup)
        if setup.nodes > MOST_NODES:
            raise SetupError(f"nodes: must not be above {MOST_NODES}")
        # The most pods that the requested cores can be divided into.
        if setup.nodes * setup.cores * setup.requested / setup.min_request > MOST_PODS:
            raise SetupError(f"nodes: there would be more than {MOST_PODS} pods at a time")
        ExperimentWorkload(selectors.recording_read(experiment), experiment.seeds[0], setup)
    except SetupError as error:
        field, _, message = str(error).partition(": ")
        raise ApplicationError.at(
            field if message else "setup", f"{(message or field)[0].upper()}{(message or field)[1:]}."
        ) from None


def _load_configuration(policy: str, nodes: int) -> Configuration | None:
    """Return the configuration of a policy; ``None`` for the policy that knows the future.

    Raises NotFound or PolicyError.
    """
    if "@" in policy:
        try:
            return of_revision(profiles_named(policy, "policies"))
        except Unprocessable:
            raise
        except Exception as error:
            raise NotFound(f"There is no policy {policy}.") from error
    if policy == FUTURE:
        return None
    built_in = list_policies(nodes)
    if policy not in built_in:
        raise NotFound(f"There is no policy {policy}; known are {', '.join([*built_in, FUTURE])}, and name@revision.")
    return load_configuration(built_in[policy])


def experiment_run(*, experiment: Experiment, step: Step) -> Json:
    """Run what is missing and store each run as soon as it is done; call ``step`` for each simulated hour."""
    recording, setup = selectors.recording_read(experiment), Setup.from_values(experiment.setup)
    finished_runs = set(experiment.runs.values_list("policy", "seed"))
    hours = round(recording.seconds / 3600.0)
    total = len(experiment.policies) * len(experiment.seeds) * hours
    begun = 0
    for seed in experiment.seeds:
        workload = ExperimentWorkload(recording, seed, setup)
        for policy in experiment.policies:
            if (policy, seed) not in finished_runs:
                tell = _make_progress(step, f"{selectors.policy_title(policy)}, seed {seed}", begun, total)
                config = _load_configuration(policy, workload.setup.nodes)
                _store_run(experiment, policy, seed, _run_replay(workload, policy, config, tell), engine_of(config))
            # Runs that are stored already count as progress.
            begun += hours
    return {"experiment": str(experiment.pk), "runs": len(experiment.policies) * len(experiment.seeds)}


def _make_progress(step: Step, text: str, begun: int, total: int) -> Progress:
    def report(time: float) -> None:
        step(text, begun + round(time / 3600.0), total)

    return report


def _run_replay(
    workload: ExperimentWorkload, policy: str, config: Configuration | None, progress: Progress
) -> ReplayResult:
    try:
        if config is None:
            return knowing_future(workload, progress=progress)
        return replay_workload(workload, config, progress=progress)
    except SimulationError as error:
        raise Unprocessable(f"{selectors.policy_title(policy)}: {error}") from None


def _store_run(experiment: Experiment, policy: str, seed: int, outcome: ReplayResult, engine: str) -> None:
    """Store the result of a run, in place of an earlier one."""
    Run.objects.update_or_create(
        experiment=experiment,
        policy=policy,
        seed=seed,
        defaults={
            "engine": engine,
            "measures": outcome.to_dict(),
            "interval": outcome.interval,
            "nodes": outcome.levels.shape[1],
            # Little-endian, so that any machine reads them alike.
            "levels": zlib.compress(outcome.levels.astype("<f4").tobytes()),
        },
    )
