"""A process that hosts flight recorders, for tests that kill it."""

from __future__ import annotations

import threading

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from kschedweb.clusters.flight import hosting, recording

if __name__ == "__main__":
    hosting.EVERY = recording.KEEP_EVERY = 0.5
    hosting.FlightHost().start()
    threading.Event().wait()
