"""Background tasks for verdicts."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.gate.services import KIND

judge = answer_task(KIND)
