"""The demo cluster without its day of use, for tests that do not look at it: it takes most of the time to load."""

from __future__ import annotations

from functools import cache

import pytest

from kschedweb.clusters import demo
from kschedweb.clusters.signals import demo_loaded

DEMO = cache(demo.generate_cluster)


@pytest.fixture
def plain_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo is its objects alone, which are made once: nobody records what they use."""
    monkeypatch.setattr(demo, "generate_cluster", DEMO)
    monkeypatch.setattr(demo_loaded, "receivers", [])
