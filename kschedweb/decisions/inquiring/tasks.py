"""Background tasks for questions about decisions."""

from __future__ import annotations

from kschedweb.decisions.inquiring.services import KIND
from kschedweb.jobs.answering import answer_task

answer = answer_task(KIND)
