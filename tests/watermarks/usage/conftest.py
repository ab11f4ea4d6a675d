"""A cluster whose nodes and workloads use known amounts, for every page and resource of recorded use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kschedweb.clusters.models import Cluster
from kschedweb.watermarks.figures import NODE, WORKLOAD, Figure
from kschedweb.watermarks.models import Resolution
from kschedweb.watermarks.storage import samples_store
from tests.watermarks.conftest import store_cluster

STEP = 300  # seconds
NOW = 1_795_255_200.0  # 2026-11-21 10:00 UTC
NODES = ("node-a", "node-b", "node-c")
# Percent of allocatable at each time of the last two hours: the first cools down, the second heats up, the third waits.
COOLING, HEATING, STEADY = np.linspace(80, 57, 24), np.linspace(20, 66, 24), np.full(24, 25.0)


def requesting(item: dict[str, Any], cpu: str, memory: str) -> dict[str, Any]:
    container = item["spec"]["containers"][0] | {"resources": {"requests": {"cpu": cpu, "memory": memory}}}
    return item | {"spec": item["spec"] | {"containers": [container]}}


def keep(cluster: Cluster, at: list[int], kind: str, names: tuple[str, ...], figures: dict[Figure, Any]) -> None:
    """``figures`` are [times, names]."""
    rows = [(time, {figure: values[row] for figure, values in figures.items()}) for row, time in enumerate(at)]
    samples_store(
        cluster=cluster, kind=kind, names=names, rows=rows, origin="prometheus", resolution=Resolution.FIVE_MINUTES
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> float:
    """The site's time stands still, at NOW."""
    from datetime import UTC, datetime

    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime.fromtimestamp(NOW, UTC))
    return NOW


@pytest.fixture
def measured_cluster(db: None, clock: float) -> Cluster:
    """Three nodes with two hours of use up to ``clock``; deployment shop/web uses a quarter of what it requests."""
    from tests.watermarks.conftest import OBJECTS

    objects = [requesting(item, "500m", "1Gi") if item["kind"] == "Pod" else item for item in OBJECTS]
    cluster = store_cluster("metered", objects)
    at = [int(clock) - STEP * back for back in range(23, -1, -1)]
    use = np.array([COOLING, HEATING, STEADY]).T
    keep(
        cluster, at, NODE, NODES,
        {Figure(NODE, "cpu", "1h"): use, Figure(NODE, "cpu", "15m"): use + 1, Figure(NODE, "memory", "1h"): use / 2},
    )  # fmt: skip
    web, database = "shop/Deployment/web", "shop/StatefulSet/db"
    cores = np.tile([0.125, 0.75], (24, 1))
    keep(
        cluster, at, WORKLOAD, (web, database),
        {Figure(WORKLOAD, "cpu", "1h"): cores, Figure(WORKLOAD, "memory", "1h"): cores * 2**30},
    )  # fmt: skip
    return cluster
