"""Background task that runs experiments."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.experiments import services
from kschedweb.playground.experiments.models import Experiment
from kschedweb.web.errors import NotFound


@job_task(name="experiments.run", restartable=True)
def run(progress: Progress, *, experiment: str) -> Json:
    """Run what is missing of the experiment with this id."""
    row = Experiment.objects.filter(pk=experiment).first()
    if row is None:
        raise NotFound("The experiment was deleted before it could be run.")
    return services.experiment_run(experiment=row, step=progress.step)
