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
def fetch_devices(with_devices: Callable[..., Snapshot], api_as: Callable[[str], Any]) -> Callable[..., Json]:
    """``fetch_devices(node="", pod="trainer", **changes)``: what is answered, in a cluster made with ``changes``."""

    def fetch(node: str = "", pod: str = "trainer", **changes: Any) -> Json:
        with_devices(**changes)
        answer = api_as("viewer").get(ADDRESS.format(pod), {"node": node} if node else {})
        assert answer.status_code == 200, answer.content
        return answer.json()

    return fetch


def device_states(answer: Json) -> dict[str, tuple[list[bool | None], list[str], bool]]:
    """By device of the only request: its selectors' answers, what is in the way, and whether it is chosen."""
    (request,) = answer["requests"]
    return {
        device["device"]: (
            [entry["accepts"] for entry in device["selectors"]],
            [entry["why"] for entry in device["objections"]],
            device["chosen"],
        )
        for device in request["devices"]
    }


def test_the_chosen_node_and_its_chosen_devices(fetch_devices: Callable[..., Json]) -> None:
    answer = fetch_devices()
    assert (answer["node"], answer["found"], answer["refusals"]) == ("gpu-4", True, [])
    yes = [True, True]
    assert device_states(answer) == {
        "gpu-0": ([True, False], [], False),
        "gpu-1": (yes, [], False),
        "gpu-2": (yes, [], True),
        "gpu-3": (yes, [], True),
    }
    (request,) = answer["requests"]
    assert (request["count"], request["wanted"], request["passing"]) == (2, 2, 3)
    assert [item["of"] for item in request["selectors"]] == [
        "class gpu: selector #0",
        "claim default/trainer: selector #0",
    ]
    assert [item["compared"] for item in request["devices"]] == [{"example.com/socket": n} for n in "0011"]


@pytest.mark.parametrize(
    ("node", "why", "of_devices"),
    [
        ("gpu-1", "constraint", [["inUse"], [], ["inUse"], []]),
        ("gpu-2", "short", [[], ["tainted"]]),
        ("gpu-3", "short", [[], []]),
    ],
)
def test_why_another_node_has_none(fetch_devices: Callable[..., Json], node: str, why: str, of_devices: list) -> None:
    answer = fetch_devices(node)
    assert (answer["node"], answer["found"]) == (node, False)
    (refusal,) = answer["refusals"]
    assert (refusal["why"], refusal["claim"]) == (why, "default/trainer")
    assert (refusal["constraint"] is not None) == (why == "constraint")
    devices = answer["requests"][0]["devices"]
    assert [[objection["why"] for objection in device["objections"]] for device in devices] == of_devices
    holders_by_device = {device["device"]: device["holders"] for device in devices if device["holders"]}
    assert holders_by_device == (
        {"gpu-0": ["default/notebook"], "gpu-2": ["default/notebook"]} if node == "gpu-1" else {}
    )


def test_errors_of_expressions_and_what_is_outside_are_told(fetch_devices: Callable[..., Json]) -> None:
    def claim(devices: Json) -> None:
        expressions = ["device.attributes['x.example.com'].y == 1", "duration('1s') > duration('0s')"]
        devices["requests"][0]["exactly"]["selectors"] = [
            {"cel": {"expression": expression}} for expression in expressions
        ]

    answer = fetch_devices("gpu-3", claim=claim)
    selector_place = "claim default/trainer: selector #0 on device gpu.example.com/gpu-3/gpu-0"
    assert answer["failed"].startswith(
        f"{selector_place}: CEL runtime error: no such key: y. consider using CEL optional "
    )
    of_class, failing, outside = answer["requests"][0]["devices"][0]["selectors"]
    assert of_class == {"accepts": True, "problem": "", "outside": False}
    assert failing == {"accepts": None, "problem": "CEL runtime error: no such key: y", "outside": False}
    assert outside == {"accepts": None, "problem": "", "outside": True}


def test_a_claim_that_has_its_devices(fetch_devices: Callable[..., Json]) -> None:
    answer = fetch_devices("gpu-4", pod="notebook")
    assert (answer["found"], answer["requests"]) == (None, [])
    (held_claim,) = answer["held"]
    assert [device["device"] for device in held_claim["devices"]] == ["gpu-0", "gpu-2"]
    assert held_claim["problem"] == "its devices cannot be used on this node"
    assert fetch_devices("gpu-1", pod="notebook")["held"][0]["problem"] == ""


def test_what_cannot_be_asked_gets_an_error_at_its_field(
    with_devices: Callable[..., Snapshot], classic: Callable[..., Revision], api_as: Callable[[str], Any]
) -> None:
    with_devices()
    classic("old")
    asks = [({"node": "gpu-9"}, "node"), ({"policy": "old"}, "policy")]
    for query, path in asks:
        answer = api_as("viewer").get(ADDRESS.format("trainer"), query)
        assert answer.status_code == 422
        assert [error["path"] for error in answer.json()["errors"]] == [path]
    assert api_as("viewer").get(ADDRESS.format("nobody")).status_code == 404
