"""The demo cluster, whose pods and nodes are lists."""

from __future__ import annotations

from tests.decisions.conftest import demo, stored_demo

__all__ = ["demo", "stored_demo"]
