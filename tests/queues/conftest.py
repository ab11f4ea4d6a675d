"""The demo cluster, stored: two cohorts with six queues."""

from __future__ import annotations

from tests.decisions.conftest import demo, demo_objects, store_snapshot, stored_demo

__all__ = ["demo", "demo_objects", "store_snapshot", "stored_demo"]
