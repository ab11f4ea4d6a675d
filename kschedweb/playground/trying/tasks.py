"""Background tasks for tried changes."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.trying.services import KIND

answer = answer_task(KIND)
