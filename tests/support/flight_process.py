"""A process that hosts flight recorders, for tests that kill it."""

from __future__ import annotations

import threading

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from kschedweb.clusters.flight import flight_run, host

if __name__ == "__main__":
    host.LOOK_INTERVAL = flight_run.KEEP_EVERY = 0.5
    host.FlightHost().start()
    threading.Event().wait()
