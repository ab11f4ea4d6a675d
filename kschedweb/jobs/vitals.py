"""The report of a worker for `manage.py doctor`. Only workers import it."""

from __future__ import annotations

import time
from typing import Any, TypedDict

from celery.worker.control import inspect_command

from kschedweb import __version__


class WorkerVitals(TypedDict):
    time: float  # seconds of the epoch
    version: str  # of kschedweb
    queues: list[str]  # that the worker serves


@inspect_command()  # type: ignore[untyped-decorator]
def kschedweb_vitals(state: Any) -> WorkerVitals:
    return {"time": time.time(), "version": __version__, "queues": sorted(state.app.amqp.queues.consume_from)}
