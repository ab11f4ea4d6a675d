"""A cluster in which devices are short for one reason a node: that of the ready scenario."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import yaml

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions import services
from kschedweb.engine.json_types import Json
from kschedweb.playground.scenarios.ready import all_ready

READY = yaml.safe_load(next(scenario.text for scenario in all_ready() if scenario.key == "devices"))["objects"]


@pytest.fixture
def with_devices(store_snapshot: Callable[..., Snapshot]) -> Callable[..., Snapshot]:
    """``with_devices(*more, claim=…)``: that cluster and ``more``; ``claim`` changes what the claim asks for."""

    def make(*extra_objects: Json, claim: Callable[[Json], None] | None = None) -> Snapshot:
        objects = [{"apiVersion": "v1", **item} for item in copy.deepcopy(READY)]
        for item in objects:
            if item["kind"] == "Pod":
                item["metadata"].setdefault("namespace", "default")
                item["metadata"].setdefault("uid", item["metadata"]["name"])
            if claim is not None and (item["kind"], item["metadata"]["name"]) == ("ResourceClaim", "trainer"):
                claim(item["spec"]["devices"])
        services.clear_caches()
        return store_snapshot([*objects, *extra_objects], "lab")

    return make
