"""Right-size over 5,000 nodes and 50,000 pods of 5,000 workloads: a minute that is carried on, and the list."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from kschedweb.advice.rightsizing import selectors
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.watermarks import container_book
from kschedweb.watermarks.container_book import ContainerUse, book_add
from kschedweb.watermarks.container_requests import Requested
from kschedweb.watermarks.inventory import Inventory
from tests.bench.conftest import timed

pytestmark = pytest.mark.nightly

NODES, WORKLOADS, PODS = 5000, 5000, 50_000
MINUTES = 5
T = 1_700_000_000 // 86_400 * 86_400
LIST, CARRY = 1000, 6000  # milliseconds: what a page may take, and a tenth of the interval


def inventory() -> Inventory:
    names = tuple(f"team-{place % 50}/Deployment/service-{place:05d}" for place in range(WORKLOADS))
    a_workload = PODS // WORKLOADS
    owners = {(names[at % WORKLOADS].split("/")[0], f"pod-{at:05d}"): at % WORKLOADS for at in range(PODS)}
    requested = tuple(
        Requested(f"{name}/main", a_workload, 500 * a_workload, (1 << 30) * a_workload, 0, 0, 1, False)
        for name in names
    )
    room = {"cpu": np.full(NODES, 32.0), "memory": np.full(NODES, float(128 << 30))}
    return Inventory(tuple(f"node-{place:05d}" for place in range(NODES)), room, room, {}, names, owners, requested)


@pytest.fixture
def carried_minutes(db: None) -> list[float]:
    """Minutes of use that were carried on, and how long each took."""
    cluster = Cluster.objects.create(name="large", source=ClusterSource.IMPORT)
    large_inventory, numbers = inventory(), np.random.default_rng(7)
    took = []
    for minute in range(MINUTES):
        cpu, memory = numbers.random(PODS).tolist(), (numbers.random(PODS) * (1 << 30)).tolist()
        used = {
            (*key, "main"): {"cpu": cpu[place], "memory": memory[place]}
            for place, key in enumerate(large_inventory.owners)
        }
        use = ContainerUse.from_rows([(T + 60 * minute, used)])
        took.append(timed(partial(book_add, cluster=cluster, inventory=large_inventory, use=use, origin="bench")))
    return took


def test_a_minute_and_the_list(
    carried_minutes: list[float], client_as: Callable[..., Any], report: Callable[..., None]
) -> None:
    client = client_as("viewer")
    report("right-size, a minute carried on", carried_minutes, CARRY, "50,000 pods")
    newest = []
    for _ in range(3):  # as after each collection: nothing of it was read yet
        selectors._sizes, container_book._books = type(selectors._sizes)(8), type(container_book._books)(4)
        newest.append(timed(lambda: client.get("/right-sizing/?cluster=large")))
    report("right-size, list of 5,000 containers, new", newest, LIST, "")
    repeated = [timed(lambda: client.get("/right-sizing/?cluster=large&ordering=cpu")) for _ in range(5)]
    report("right-size, list of 5,000 containers, again", repeated, LIST, "")
    assert client.get("/right-sizing/?cluster=large").context["totals"].containers == WORKLOADS
