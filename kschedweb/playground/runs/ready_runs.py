"""The site's own runs of the ready scenarios, so that each opens with its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import structlog

from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Run
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.validation import settle_release
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.scenarios.ready import Ready

logger = structlog.get_logger(__name__)

# Every site plays the ready scenarios with the same seed, so that their texts fit the results.
SEED = 1


def ready_run(*, ready: Ready, revision: ScenarioRevision) -> Run:
    """Return the run of ``revision`` under the policy of ``ready``; create and play a missing run at once.

    A run of another version of the engine is played again, under the same address. Raises ApplicationError if the run
    fails.
    """
    run, policy = selectors.ready_run(ready, revision), selectors.ready_policy(ready)
    # Whatever is compared with it later runs as the same release.
    process = settle_release({}) if policy is None else process_of_run(policy, cluster_version(revision))
    if run is None:
        run = Run.objects.create(
            revision=revision,
            policy=policy,
            label=ready.policy if policy is None else f"{ready.policy}@{policy.number}",
            configuration=ready.configuration,
            process=process,
            seed=SEED,
        )
    elif run.process != process or run.engine != selectors.load_configuration(run).release.engine:
        run.process, run.ended_at = process, None
        run.save(update_fields=["process", "ended_at"])
    services.run_do(run=run, step=_ignore_progress)
    return run


def play_ready_run(*, ready: Ready, revision: ScenarioRevision, **_: Any) -> None:
    """Play a ready scenario after it was put in place; a failure must not stop the site."""
    try:
        ready_run(ready=ready, revision=revision)
    except ApplicationError as error:
        logger.warning("a ready scenario cannot be played", scenario=ready.key, reason=error.detail)


def _ignore_progress(step: str, count: int, total: int) -> None:
    """Ignore progress, which nobody watches here."""
