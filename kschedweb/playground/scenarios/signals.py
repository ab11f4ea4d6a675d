"""What other apps may want to know of; those above this one connect to it."""

from __future__ import annotations

from django.dispatch import Signal

# Sent after a ready scenario was put in place, or found there: ``ready`` (ready.Ready), and ``revision``, its newest.
ready_placed = Signal()
