"""The Celery application: every background task runs through it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from celery import Celery
from celery.signals import worker_init
from django.conf import settings
from kombu.exceptions import OperationalError

from kschedweb.web import env, garbage
from kschedweb.web.errors import Unavailable

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kschedweb.settings")

AWAY = "The message broker cannot be reached."
# Seconds. Who sends a message waits for the answer to a request; a worker that waits for messages has other limits.
QUICK = {"socket_connect_timeout": 1.0, "socket_timeout": 1.0}
RETRY_SECONDS = 5.0

Relay = Callable[[str, Any, Any, dict[str, object]], None]


class Application(Celery):  # type: ignore[misc]
    """Celery, of which nobody who sends a message waits long for a broker that is away."""

    relay: Relay | None = None  # in a child process of a worker: its parent sends
    _away_until = 0.0

    def connection_for_write(self, url: str | None = None, *args: Any, **options: Any) -> Any:
        if not (url or self.conf.broker_url).startswith("memory:"):
            options.setdefault("transport_options", QUICK)
        return super().connection_for_write(url, *args, **options)

    def broker_is_back(self) -> None:
        """Somebody has just talked to it: the next message is tried."""
        self._away_until = 0.0

    def send_task(self, name: str, args: Any = None, kwargs: Any = None, **options: Any) -> Any:
        """Raises Unavailable where the broker cannot be reached; whoever asks soon after that is told so at once."""
        if self.relay is not None:
            passed = {key: options[key] for key in ("countdown", "expires") if options.get(key) is not None}
            return self.relay(name, args, kwargs, passed)
        if time.monotonic() < self._away_until:
            raise Unavailable(AWAY)
        try:
            return super().send_task(name, args, kwargs, **options)
        except (OperationalError, OSError) as error:
            self._away_until = time.monotonic() + RETRY_SECONDS
            raise Unavailable(AWAY) from error


app = Application("kschedweb")
with env.one_line_errors():
    _ = settings.DEBUG  # Reads the settings now: Celery would show a traceback later.
    app.config_from_object(settings, namespace="CELERY")
    app.autodiscover_tasks()
    rooms = ["decisions.inquiring", "decisions.pending", "watermarks.annotations", "live.approvals.webhooks"]
    app.autodiscover_tasks([f"kschedweb.{room}" for room in rooms])
    app.autodiscover_tasks(["kschedweb.jobs"], related_name="retention")

# All tasks are imported then, and the pool's processes do not exist yet: they get the same limits.
worker_init.connect(garbage.look_seldom)

# A task's log lines carry the id of the request that asked for it. (Imported late: it reads the settings.)
from django_structlog.celery.steps import DjangoStructLogInitStep  # noqa: E402

app.steps["worker"].add(DjangoStructLogInitStep)
# Workers of the queue `scheduler` host live schedulers and flight recorders. (Named, not imported: their models need
# Django to be ready.)
app.steps["worker"].add("kschedweb.live.schedulers.running.host:HostStep")
app.steps["worker"].add("kschedweb.clusters.flight.host:FlightStep")
app.steps["consumer"].add("kschedweb.jobs.reconciling:MendStep")
