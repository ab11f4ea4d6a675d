"""Background tasks for verdicts."""

from __future__ import annotations

from kschedweb.jobs.answering import answer_task
from kschedweb.playground.gate import services
from kschedweb.playground.gate.models import Gate

judge = answer_task(
    "gate.judge",
    Gate,
    lambda gate, step: services.gate_do(gate=gate, step=step),
    related=("snapshot__cluster", "revision__scenario"),
    parameter="gate",
    missing="The gate was deleted before there was a verdict.",
)
