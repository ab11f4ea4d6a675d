"""Background tasks for tried changes."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.jobs.tasks import Progress, job_task
from kschedweb.playground.trying import services
from kschedweb.playground.trying.models import TriedChange
from kschedweb.web.errors import NotFound


@job_task(name="trying.answer", restartable=True)
def answer(progress: Progress, *, tried: str) -> Json:
    """Find what the change with this id does, unless it is known already."""
    related = ("snapshot__cluster", "revision__scenario")
    row = TriedChange.objects.select_related(*related).defer("snapshot__content").filter(pk=tried).first()
    if row is None:
        raise NotFound("The change was deleted before there was an answer.")
    return services.change_answer(tried_change=row, step=progress.step)
