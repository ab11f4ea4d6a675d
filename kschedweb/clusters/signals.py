"""Signals for apps above this one."""

from __future__ import annotations

from django.dispatch import Signal

# Sent within the transaction that loads the demo: ``cluster``, and ``objects``, the raw objects of its snapshot.
demo_loaded = Signal()
# Sent when a snapshot is complete: ``snapshot``.
snapshot_stored = Signal()
