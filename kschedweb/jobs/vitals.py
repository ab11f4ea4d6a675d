"""What a worker says of itself when `manage.py doctor` asks; workers alone import it."""

from __future__ import annotations

import time
from typing import Any

from celery.worker.control import inspect_command

from kschedweb import __version__


@inspect_command()  # type: ignore[untyped-decorator]
def kschedweb_vitals(state: Any) -> dict[str, Any]:
    """{"time": seconds of the epoch, "version": of kschedweb, "queues": that it serves}"""
    return {"time": time.time(), "version": __version__, "queues": sorted(state.app.amqp.queues.consume_from)}
