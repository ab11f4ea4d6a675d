"""A small cluster, a classic policy, and a profile that decides otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Snapshot
from kschedweb.policies.models import Revision
from tests.decisions.conftest import store_snapshot
from tests.engine.builders import node, pod
from tests.engine.studies.gates import cluster
from tests.support import seed_moves

__all__ = ["store_snapshot"]

TAINT = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]


@pytest.fixture
def small(store_snapshot: Callable[..., Snapshot]) -> Snapshot:
    """Six nodes, six pods on the first of them; two wait, and one waits that only a tainted node has room for."""
    asking = {"cpu": "500m", "memory": "1Gi"}
    waiting = [pod(f"new-{number}", requests=asking, labels={"app": "new"}) for number in range(2)]
    large = pod("large", requests={"cpu": "12"})
    large["metadata"]["namespace"] = "batch"
    tainted_nodes = [node(f"gpu-{number}", taints=TAINT, allocatable={"cpu": "16"}) for number in range(2)]
    return store_snapshot([*cluster(), *waiting, large, *tainted_nodes], "small")


@pytest.fixture
def filling(editor: User) -> Revision:
    """A classic policy that fills nodes up and does not look at taints."""
    return seed_moves.classic(editor)
