"""The demo cluster, stored, and nothing known of it yet."""

from __future__ import annotations

import pytest

from kschedweb.capacity import services
from tests.playground.conftest import demo, demo_objects, policy, revision, stored

__all__ = ["demo", "demo_objects", "policy", "revision", "stored"]


@pytest.fixture(autouse=True)
def forgotten() -> None:
    services.forget()
