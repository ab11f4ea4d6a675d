"""The demo cluster for the frame's pages."""

from __future__ import annotations

from tests.decisions.conftest import demo, demo_objects, policy, revision, stored

__all__ = ["demo", "demo_objects", "policy", "revision", "stored"]
