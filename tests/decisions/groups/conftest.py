"""A small cluster for groups of pods, and a policy that schedules them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import services
from kschedweb.engine.json_types import Json
from kschedweb.policies.models import Revision
from tests.decisions.conftest import HEAD
from tests.engine.builders import node
from tests.engine.gangs import BY_TOPOLOGY, IN_TREES

RACK = "example.com/rack"


@pytest.fixture
def lab(store_snapshot: Callable[..., Snapshot]) -> Callable[..., Snapshot]:
    """``lab(*objects)``: a cluster of four nodes with four CPUs, two a rack, and these objects beside them."""

    def make(*objects: Json) -> Snapshot:
        services.clear_caches()
        nodes = [node(f"n{number}", labels={RACK: f"r{number // 2}"}) for number in range(4)]
        return store_snapshot([*nodes, *objects], "lab")

    return make


@pytest.fixture
def on(policy: Callable[..., Revision]) -> Revision:
    """The policy ``on`` with the feature gates of groups."""
    return policy("on", HEAD, {"release": "1.37", "featureGates": BY_TOPOLOGY})


@pytest.fixture
def in_trees(policy: Callable[..., Revision]) -> Revision:
    """The policy ``trees`` with the feature gates of groups of groups."""
    return policy("trees", HEAD, {"release": "1.38", "featureGates": IN_TREES})
