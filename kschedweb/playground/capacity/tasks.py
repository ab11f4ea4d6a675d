"""Background tasks for questions about capacity."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.capacity.services import KIND

answer = answer_task(KIND)
