"""The demo cluster, stored, and nothing known of it yet."""

from __future__ import annotations

import pytest

from kschedweb.advice.moves import services
from tests.decisions.conftest import demo, demo_objects, no_cluster, policy, revision, store_snapshot, stored_demo

__all__ = ["demo", "demo_objects", "no_cluster", "policy", "revision", "store_snapshot", "stored_demo"]


@pytest.fixture(autouse=True)
def clear_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known, and a busy machine makes no job of a quick question."""
    services.clear_cache()
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question takes longer than a request may."""
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
