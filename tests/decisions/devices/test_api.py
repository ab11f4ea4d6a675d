"""The devices of a node over REST: each verdict, and why a node has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.engine.json_types import Json
from kschedweb.policies.models import Revision

ADDRESS = "/api/v1/clusters/lab/pods/default/{}/devices/"


@pytest.fixture
def asked(with_devices: Callable[..., Snapshot], api_as: Callable[[str], Any]) -> Callable[..., Json]:
    """``asked(node="", pod="trainer", **more)``: what is answered, in a cluster made with ``more``."""

    def ask(node: str = "", pod: str = "trainer", **more: Any) -> Json:
        with_devices(**more)
        answer = api_as("viewer").get(ADDRESS.format(pod), {"node": node} if node else {})
        assert answer.status_code == 200, answer.content
        return answer.json()

    return ask


def states(answer: Json) -> dict[str, tuple[list[bool | None], list[str], bool]]:
    """By device of the only request: its selectors' answers, what is in the way, and whether it is chosen."""
    (request,) = answer["requests"]
    return {
        one["device"]: (
            [each["accepts"] for each in one["selectors"]],
            [each["why"] for each in one["objections"]],
            one["chosen"],
        )
        for one in request["devices"]
    }


def test_the_chosen_node_and_its_chosen_devices(asked: Callable[..., Json]) -> None:
    answer = asked()
    assert (answer["node"], answer["found"], answer["refusals"]) == ("gpu-4", True, [])
    yes = [True, True]
    assert states(answer) == {
        "gpu-0": ([True, False], [], False),
        "gpu-1": (yes, [], False),
        "gpu-2": (yes, [], True),
        "gpu-3": (yes, [], True),
    }
    (request,) = answer["requests"]
    assert (request["count"], request["wanted"], request["passing"]) == (2, 2, 3)
    assert [one["of"] for one in request["selectors"]] == [
        "class gpu: selector #0",
        "claim default/trainer: selector #0",
    ]
    assert [one["compared"] for one in request["devices"]] == [{"example.com/socket": n} for n in "0011"]


@pytest.mark.parametrize(
    ("node", "why", "of_devices"),
    [
        ("gpu-1", "constraint", [["inUse"], [], ["inUse"], []]),
        ("gpu-2", "short", [[], ["tainted"]]),
        ("gpu-3", "short", [[], []]),
    ],
)
def test_why_another_node_has_none(asked: Callable[..., Json], node: str, why: str, of_devices: list) -> None:
    answer = asked(node)
    assert (answer["node"], answer["found"]) == (node, False)
    (refusal,) = answer["refusals"]
    assert (refusal["why"], refusal["claim"]) == (why, "default/trainer")
    assert (refusal["constraint"] is not None) == (why == "constraint")
    devices = answer["requests"][0]["devices"]
    assert [[each["why"] for each in one["objections"]] for one in devices] == of_devices
    held = {one["device"]: one["holders"] for one in devices if one["holders"]}
    assert held == ({"gpu-0": ["default/notebook"], "gpu-2": ["default/notebook"]} if node == "gpu-1" else {})


def test_errors_of_expressions_and_what_is_outside_are_told(asked: Callable[..., Json]) -> None:
    def claim(devices: Json) -> None:
        listed = ["device.attributes['x.example.com'].y == 1", "duration('1s') > duration('0s')"]
        devices["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": one}} for one in listed]

    answer = asked("gpu-3", claim=claim)
    where = "claim default/trainer: selector #0 on device gpu.example.com/gpu-3/gpu-0"
    assert answer["failed"].startswith(f"{where}: CEL runtime error: no such key: y. consider using CEL optional ")
    of_class, failing, outside = answer["requests"][0]["devices"][0]["selectors"]
    assert of_class == {"accepts": True, "problem": "", "outside": False}
    assert failing == {"accepts": None, "problem": "CEL runtime error: no such key: y", "outside": False}
    assert outside == {"accepts": None, "problem": "", "outside": True}


def test_a_claim_that_has_its_devices(asked: Callable[..., Json]) -> None:
    answer = asked("gpu-4", pod="notebook")
    assert (answer["found"], answer["requests"]) == (None, [])
    (held,) = answer["held"]
    assert [one["device"] for one in held["devices"]] == ["gpu-0", "gpu-2"]
    assert held["problem"] == "its devices cannot be used on this node"
    assert asked("gpu-1", pod="notebook")["held"][0]["problem"] == ""


def test_what_cannot_be_asked_gets_an_error_at_its_field(
    with_devices: Callable[..., Snapshot], classic: Callable[..., Revision], api_as: Callable[[str], Any]
) -> None:
    with_devices()
    classic("old")
    asks = [({"node": "gpu-9"}, "node"), ({"policy": "old"}, "policy")]
    for query, path in asks:
        answer = api_as("viewer").get(ADDRESS.format("trainer"), query)
        assert answer.status_code == 422
        assert [one["path"] for one in answer.json()["errors"]] == [path]
    assert api_as("viewer").get(ADDRESS.format("nobody")).status_code == 404
