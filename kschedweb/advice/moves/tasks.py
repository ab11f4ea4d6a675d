"""Background tasks for dry runs."""

from __future__ import annotations

from kschedweb.advice.moves.services import KIND
from kschedweb.jobs.answering import answer_task

answer = answer_task(KIND)
