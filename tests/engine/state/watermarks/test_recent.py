"""Sums over recently bound pods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.state.watermarks.recent import Counted, RecentPods
from tests.engine.builders import node, pod

NOW = 1_790_000_000.0
SPAN = 300.0


def bound(name: str, ago: float | None) -> dict[str, Any]:
    raw = pod(name, on="a" if int(name) % 2 else "b")
    if ago is not None:
        stamp = np.datetime_as_string(np.datetime64(int(NOW - ago), "s")) + "Z"
        raw.setdefault("status", {})["startTime"] = stamp
    return raw


@pytest.mark.parametrize("since", [None, np.full(2, NOW - SPAN)], ids=["all", "since"])
def test_pods_that_cannot_count_are_not_asked_about(since: Any) -> None:
    ages = [0.0, 10.0, 299.0, 300.0, 301.0, 5000.0, None]
    snapshot = Snapshot.from_objects([node("a"), node("b"), *(bound(str(at), ago) for at, ago in enumerate(ages))])
    snapshot.now = NOW
    asked: list[str] = []

    def estimate(one: Pod, place: int, time: float) -> Counted | None:
        asked.append(one.name)
        return None if math.isnan(time) else Counted([1.0], time + SPAN)

    sums = RecentPods(snapshot, 1, estimate, since).sums()
    assert dict(zip(snapshot.names, sums[0].tolist(), strict=True)) == {"a": 2.0, "b": 2.0}
    assert len(asked) == (len(ages) if since is None else 4)
