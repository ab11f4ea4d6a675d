"""Background tasks for plans of moves."""

from __future__ import annotations

from kschedweb.advice.plans import offers, services
from kschedweb.jobs.answering import answer_task

answer = answer_task(services.KIND)
# Which nodes could go, for the overview.
offer = answer_task(offers.KIND)
