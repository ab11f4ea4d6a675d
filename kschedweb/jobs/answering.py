"""Tasks that answer questions, one for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.jobs.inquiries import InquiryKind, question_of_job
from kschedweb.jobs.tasks import Progress, job_task

if TYPE_CHECKING:
    from kschedweb.engine.json_types import Json


def answer_task(kind: InquiryKind[Any]) -> Any:
    """Return the job task that answers a question of ``kind``, unless it is answered already."""

    @job_task(name=kind.task, restartable=True)
    def answer_question(progress: Progress, **parameters: str) -> Json:
        return kind.answer(question_of_job(kind, parameters[kind.parameter]), progress.step)

    return answer_question
