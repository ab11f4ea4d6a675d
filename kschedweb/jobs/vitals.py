"""The report of a worker for `manage.py doctor`. Only workers import it."""

from __future__ import annotations

import time
from typing import Any

from celery.worker.control import inspect_command

from kschedweb import __version__


@inspect_command()  # type: ignore[untyped-decorator]
def kschedweb_vitals(state: Any) -> dict[str, Any]:
    """Return the time in seconds of the epoch, the version of kschedweb, and the queues that the worker serves."""
    return {"time": time.time(), "version": __version__, "queues": sorted(state.app.amqp.queues.consume_from)}
