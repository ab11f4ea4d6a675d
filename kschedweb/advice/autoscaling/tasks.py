"""Background tasks for questions about autoscaling."""

from __future__ import annotations

from kschedweb.advice.autoscaling.services import KIND
from kschedweb.jobs.answering import answer_task

answer = answer_task(KIND)
