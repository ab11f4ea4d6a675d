"""The demo cluster, stored, with a day of what its containers used."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kschedweb.watermarks import demo as recorded
from kschedweb.watermarks.container_book import book_add
from kschedweb.watermarks.inventory import inventory_make
from kschedweb.watermarks.models import Resolution
from tests.decisions.conftest import demo, demo_objects, store_snapshot, stored_demo

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot

__all__ = ["demo", "demo_objects", "store_snapshot", "stored_demo"]
END = datetime(2026, 11, 21, 10, tzinfo=UTC).timestamp()


@pytest.fixture
def used_demo(demo: Snapshot, demo_objects: list[dict[str, object]]) -> Snapshot:
    inventory = inventory_make(demo_objects)
    hours = np.arange(int(END) - 24 * 3600 + 3600, int(END) + 3600, 3600)
    use = recorded.containers_used(demo_objects, hours)
    book_add(cluster=demo.cluster, inventory=inventory, use=use, origin="demo", peaks=Resolution.FIVE_MINUTES)
    return demo
