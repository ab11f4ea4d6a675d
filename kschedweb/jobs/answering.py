"""Tasks that answer questions, one for each kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kschedweb.jobs.inquiries import RELATED, Step, question_of_job
from kschedweb.jobs.models import Inquiry
from kschedweb.jobs.tasks import Progress, job_task

if TYPE_CHECKING:
    from kschedweb.engine.json_types import Json

InquiryT = TypeVar("InquiryT", bound=Inquiry)


def answer_task(
    name: str,
    model: type[InquiryT],
    answer: Callable[[InquiryT, Step], Json],
    *,
    related: tuple[str, ...] = RELATED,
    parameter: str = "question",
    missing: str = "The question was deleted before there was an answer.",
) -> Any:
    """Return the job task ``name`` that answers a question of ``model``, unless it is answered already.

    ``answer`` gets the question and a step that hears of the progress. ``parameter`` of a job is the question's id,
    ``related`` is read along, and ``missing`` says that the question was deleted.
    """

    @job_task(name=name, restartable=True)
    def answer_question(progress: Progress, **parameters: str) -> Json:
        inquiry = question_of_job(model, parameters[parameter], *related, missing=missing)
        return answer(inquiry, progress.step)

    return answer_question
