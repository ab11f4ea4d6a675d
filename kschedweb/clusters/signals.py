"""What other apps may want to know of; those above this one connect to it."""

from __future__ import annotations

from django.dispatch import Signal

# Sent within the transaction that loads the demo: ``cluster``, and ``objects``, the raw objects of its snapshot.
demo_loaded = Signal()
