"""Load-aware policies side by side, over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions.load_aware.curves import AGES, Conditions, compute_curve
from kschedweb.decisions.load_aware.sides import all_sides
from kschedweb.decisions.snapshots import engine_snapshot
from tests.decisions.conftest import HEAD
from tests.decisions.load_aware.test_views import store_use

CURVES = "/api/v1/load-aware/curves/"
CLUSTER = "/api/v1/clusters/demo/load-aware/"
SCORING = (
    f"{HEAD}profiles: [{{pluginConfig: [{{name: HheWaterLevelBalance, args: {{clusterCpuMinNodeWeight: 1}}}}]}}]\n"
)


def test_the_curves_are_those_of_the_engine(db: None, api_as: Callable[[str], Any]) -> None:
    answer = api_as("viewer").get(CURVES, {"pod": "5", "average": "40"}).json()
    conditions = Conditions(pod=5.0, average=40.0)
    assert answer["percents"] == list(range(101))
    assert answer["conditions"]["average"] == 40.0
    by_name = {item["name"]: item for item in answer["curves"]}
    for side in all_sides():
        curve = compute_curve(side, conditions)
        assert by_name[side.key]["scores"] == curve.scores
        assert by_name[side.key]["missing"]["score"] == curve.missing.score
        assert [item["age"] for item in by_name[side.key]["aged"]] == list(AGES)
    assert "Load[cpu_usage_avg_5m] of node[" in by_name["Dynamic"]["rejected"]["90"]


def test_a_document_that_is_not_saved_can_be_drawn(db: None, api_as: Callable[[str], Any]) -> None:
    client = api_as("viewer")
    body = {"document": SCORING, "policy": "HheWaterLevelBalance", "average": 40}
    answer = client.post(CURVES, body).json()
    moving = [item["moving"] for item in answer["curves"]]
    assert moving[0] == "everything"
    assert {"15m", "1h", "1d", "cpu", "memory"} <= set(moving)
    plain = client.post(CURVES, body | {"document": HEAD}).json()
    assert plain["curves"][0]["scores"] != answer["curves"][0]["scores"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"document": HEAD + "parallelism: 0\n"}, "document.parallelism"),
        ({"document": ": ["}, "document"),
        ({"policy": "Nobody"}, "policy"),
        ({"average": 99}, "average"),
        ({"pod": "x"}, "pod"),
        ({"moving": "x"}, "moving"),
    ],
)
def test_what_cannot_be_drawn_is_said_with_its_field(
    db: None, api_as: Callable[[str], Any], change: dict[str, Any], path: str
) -> None:
    answer = api_as("viewer").post(CURVES, {"document": HEAD, "policy": "HheWaterLevelBalance", **change})
    assert answer.status_code in (400, 422)
    assert [item["path"] for item in answer.json()["errors"]] == [path]


def test_every_policy_answers_for_every_node(demo: Snapshot, api_as: Callable[[str], Any]) -> None:
    store_use(demo, general_a_1=10.0)
    answer = api_as("viewer").get(CLUSTER, {"pod": "ml/notebook"}).json()
    names = set(engine_snapshot(demo).names)
    assert answer["watermarks"]["origin"] == "prometheus"
    for entrant in answer["policies"]:
        assert {*entrant["scores"], *entrant["rejected"]} == names
        if entrant["winner"]:
            assert entrant["scores"][entrant["winner"]] == max(entrant["scores"].values()) == entrant["score"]
            assert entrant["winner"] in entrant["words"]


def test_what_is_not_there_is_not_found(demo: Snapshot, api_as: Callable[[str], Any]) -> None:
    client = api_as("viewer")
    for address, query in ((CLUSTER, {"pod": "a/b"}), (CLUSTER, {"policy": "x"}), (CURVES, {"revision": "9"})):
        assert client.get(address, query).status_code == 404
