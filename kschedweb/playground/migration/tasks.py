"""Background tasks for questions about a migration."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.migration.services import KIND

answer = answer_task(KIND)
