"""Metrics of the answers to kube-scheduler. kube-scheduler has no such series, so the names are ours.

They are served with the site's own metrics, by the process that answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.live.schedulers.metrics import exponential_buckets, make_counter, make_histogram

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler

REQUESTS = make_counter(
    "kschedweb_extender_requests", "Number of questions of kube-scheduler answered, by verb.", "verb"
)
ERRORS = make_counter(
    "kschedweb_extender_errors", "Number of questions answered with an error, or without knowing, by verb.", "verb"
)
SECONDS = make_histogram(
    "kschedweb_extender_request_duration_seconds",
    "Seconds from a question of kube-scheduler to the answer, by verb.",
    exponential_buckets(0.001, 2, 15),
    "verb",
)


def count_answer(live: LiveScheduler, verb: str, seconds: float, trouble: str) -> None:
    """Count one answer; ``trouble`` is what was wrong, "" for nothing."""
    labels = live.cluster.name, live.scheduler_name, verb
    REQUESTS.labels(*labels).inc()
    SECONDS.labels(*labels).observe(seconds)
    if trouble:
        ERRORS.labels(*labels).inc()
