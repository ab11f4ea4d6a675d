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

READY = yaml.safe_load(next(one.text for one in all_ready() if one.key == "devices"))["objects"]


@pytest.fixture
def with_devices(stored: Callable[..., Snapshot]) -> Callable[..., Snapshot]:
    """``with_devices(*more, claim=…)``: that cluster and ``more``; ``claim`` changes what the claim asks for."""

    def make(*more: Json, claim: Callable[[Json], None] | None = None) -> Snapshot:
        objects = [{"apiVersion": "v1", **item} for item in copy.deepcopy(READY)]
        for item in objects:
            if item["kind"] == "Pod":
                item["metadata"].setdefault("namespace", "default")
                item["metadata"].setdefault("uid", item["metadata"]["name"])
            if claim is not None and (item["kind"], item["metadata"]["name"]) == ("ResourceClaim", "trainer"):
                claim(item["spec"]["devices"])
        services.clear_caches()
        return stored([*objects, *more], "lab")

    return make
