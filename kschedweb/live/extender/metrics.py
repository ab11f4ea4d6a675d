"""Metrics of the answers to kube-scheduler. It has no such series itself, so the names are ours.

They are served with the site's own metrics, by the process that answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.live.schedulers.metrics import counter, exponential, histogram

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler

REQUESTS = counter("kschedweb_extender_requests", "Number of questions of kube-scheduler answered, by verb.", "verb")
ERRORS = counter(
    "kschedweb_extender_errors", "Number of questions answered with an error, or without knowing, by verb.", "verb"
)
SECONDS = histogram(
    "kschedweb_extender_request_duration_seconds",
    "Seconds from a question of kube-scheduler to the answer, by verb.",
    exponential(0.001, 2, 15),
    "verb",
)


def answered(live: LiveScheduler, verb: str, seconds: float, trouble: str) -> None:
    """One question was answered; ``trouble`` says what was wrong, "" for nothing."""
    whose = live.cluster.name, live.scheduler_name, verb
    REQUESTS.labels(*whose).inc()
    SECONDS.labels(*whose).observe(seconds)
    if trouble:
        ERRORS.labels(*whose).inc()
