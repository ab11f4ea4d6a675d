"""Signals for apps above this one."""

from __future__ import annotations

from django.dispatch import Signal

# Sent after a ready scenario was stored, or found stored: ``ready`` (ready.Ready) and ``revision``, its newest one.
ready_placed = Signal()
