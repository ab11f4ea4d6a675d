"""The demo cluster for the frame's pages."""

from __future__ import annotations

from tests.decisions.conftest import demo, demo_objects, no_cluster, policy, revision, store_snapshot, stored_demo

__all__ = ["demo", "demo_objects", "no_cluster", "policy", "revision", "store_snapshot", "stored_demo"]
