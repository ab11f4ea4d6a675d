"""The demo cluster, stored."""

from tests.decisions.conftest import demo, demo_objects, store_snapshot, stored_demo

__all__ = ["demo", "demo_objects", "store_snapshot", "stored_demo"]
