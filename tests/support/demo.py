"""The demo cluster without its day of use, for tests that do not look at it: it takes most of the time to load."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import pytest

from kschedweb.clusters import demo
from kschedweb.clusters.signals import demo_loaded
from kschedweb.engine.json_types import Json

DEMO = cache(demo.generate_cluster)


@pytest.fixture
def plain_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo is its objects alone, which are made once: nobody records what they use."""
    monkeypatch.setattr(demo, "generate_cluster", DEMO)
    monkeypatch.setattr(demo_loaded, "receivers", [])


def without_groups(objects: Iterable[Json]) -> list[Json]:
    """Return copies of ``objects`` as schedulers read them that place pods one by one."""
    kept = (item for item in objects if item["kind"] != "PodGroup")
    return [
        {**item, "spec": {name: value for name, value in item["spec"].items() if name != "schedulingGroup"}}
        if item["kind"] == "Pod"
        else item
        for item in kept
    ]
