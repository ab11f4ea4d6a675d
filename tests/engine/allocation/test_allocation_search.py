"""Search for devices: its choices, the order in which it tries them, and the place where it gives up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kschedweb.engine.allocation import allocation_search
from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.features import DEFAULTS, Features
from kschedweb.engine.allocation.request_data import AllocationError
from kschedweb.engine.allocation.selectors import UnknownError
from kschedweb.engine.state.snapshot import Snapshot
from tests.engine.builders import node

DRIVER = "d.example.com"


def resource(kind: str, name: str, spec: dict) -> dict:
    metadata = {"name": name, "namespace": "default"} if kind == "ResourceClaim" else {"name": name}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def pool(name: str, devices: list[dict], *, count: int = 1, **fields: Any) -> dict:
    of_pool = {"name": name, "generation": 1, "resourceSliceCount": count}
    return resource("ResourceSlice", f"slice-{name}", {"driver": DRIVER, "pool": of_pool, "devices": devices, **fields})


def plain(number: int, **fields: Any) -> list[dict]:
    return [{"name": f"dev{place:02}", **fields} for place in range(number)]


def exactly(name: str = "r", **fields: Any) -> dict:
    return {"name": name, "exactly": {"deviceClassName": "any", **fields}}


def first_of(name: str, *counts: int) -> dict:
    listed = [{"name": f"s{count}", "deviceClassName": "any", "count": count} for count in counts]
    return {"name": name, "firstAvailable": listed}


def chosen(claims: list[dict], *slices: dict, features: Features = DEFAULTS) -> list[list[str]] | None:
    """The devices (request, pool/device) of each claim, on the node ``a``."""
    listed = [resource("ResourceClaim", f"c{number}", {"devices": spec}) for number, spec in enumerate(claims)]
    snapshot = Snapshot.from_objects([node("a"), node("b"), resource("DeviceClass", "any", {}), *slices, *listed])
    assert snapshot.problems == []
    claims_or_none = [snapshot.resource_claims.get("default", item["metadata"]["name"]) for item in listed]
    pending_claims = [claim for claim in claims_or_none if claim is not None]
    results = Allocator(snapshot, features).allocate_claims(pending_claims, snapshot.index["a"])
    if results is None:
        return None
    return [
        [f"{device.request} {'/'.join(device.device[1:])}" for device in result.allocation.devices]
        for result in results
    ]


def test_pools_are_tried_by_name_and_those_that_have_to_be_made_ready_last() -> None:
    slow = pool("a", plain(1, bindingConditions=["Ready"]), nodeName="a")
    slices = [slow, pool("c", plain(1), allNodes=True), pool("b", plain(1), nodeName="a")]
    assert chosen([{"requests": [exactly(count=3)]}], *slices) == [["r b/dev00", "r c/dev00", "r a/dev00"]]


def test_no_device_is_had_twice_by_all_claims_of_a_pod() -> None:
    claims = [{"requests": [exactly(count=2)]}, {"requests": [exactly()]}]
    assert chosen(claims, pool("a", plain(3), nodeName="a")) == [["r a/dev00", "r a/dev01"], ["r a/dev02"]]
    assert chosen(claims, pool("a", plain(2), nodeName="a")) is None


def test_an_earlier_choice_is_given_up_for_a_later_request() -> None:
    devices = plain(2)
    devices[1]["attributes"] = {"example.com/x": {"int": 1}}
    same = [{"requests": ["s"], "matchAttribute": "example.com/x"}]
    requests = [exactly("r"), exactly("s")]
    allocation = chosen([{"requests": requests, "constraints": same}], pool("a", devices, nodeName="a"))
    assert allocation == [["r a/dev00", "s a/dev01"]]
    assert chosen([{"requests": requests[::-1], "constraints": same}], pool("a", devices, nodeName="a")) == [
        ["s a/dev01", "r a/dev00"]
    ]


def test_a_claim_has_32_devices_at_most() -> None:
    large = pool("a", plain(60), nodeName="a")
    too_many = {"requests": [exactly("r", count=20), exactly("s", count=13)]}
    with pytest.raises(AllocationError, match="number of requested devices 33 exceeds the claim limit of 32"):
        chosen([too_many], large)
    # The alternative that leaves room for the next request is taken.
    (devices,) = chosen([{"requests": [first_of("r", 20, 12), exactly("s", count=20)]}], large) or [[]]
    assert [sum(device.startswith(name) for device in devices) for name in ("r/s12 ", "s ")] == [12, 20]


def test_all_devices_are_those_of_complete_pools() -> None:
    everything = [{"requests": [exactly(allocationMode="All")]}]
    assert chosen(everything, pool("a", plain(2), nodeName="a")) == [["r a/dev00", "r a/dev01"]]
    assert chosen(everything, pool("b", plain(2), nodeName="b")) is None
    with pytest.raises(AllocationError, match=f"resource pool {DRIVER}/a is currently being updated"):
        chosen(everything, pool("a", plain(2), nodeName="a", count=2))
    with pytest.raises(AllocationError, match=f"resource pool {DRIVER}/a is currently invalid"):
        chosen(everything, pool("a", plain(1) * 2, nodeName="a"))


def test_devices_that_can_change_places_are_tried_once() -> None:
    """The whole search has many millions of tries."""
    impossible = {"requests": [exactly("r", count=15), exactly("s", count=15)]}
    assert chosen([impossible], pool("a", plain(29), nodeName="a")) is None


def test_a_search_that_goes_on_for_too_long_is_not_ended_by_a_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_search, "MAX_TRIES", 2000)
    devices = plain(26)
    for number, device in enumerate(devices):
        device["attributes"] = {"example.com/x": {"int": number % 13}}
    distinct = [{"distinctAttribute": "example.com/x"}]
    requests = [exactly(f"r{number}") for number in range(14)]
    with pytest.raises(UnknownError):
        chosen([{"requests": requests, "constraints": distinct}], pool("a", devices, nodeName="a"))


@pytest.mark.parametrize(
    ("claim", "off", "problem"),
    [
        ({"requests": [first_of("r", 1)]}, "prioritized", "request r: has subrequests, but the DRAPrioritizedList"),
        ({"requests": [exactly(capacity={"requests": {}})]}, "consumable", "has capacity requests, but the DRAConsum"),
        ({"requests": [exactly(adminAccess=True)]}, "admin", "admin access is requested, but the feature is disabled"),
        ({"requests": [exactly(allocationMode="Some")]}, "", "unsupported count mode Some"),
        ({"requests": [exactly(selectors=[{}])]}, "", "selector #0: CEL expression empty"),
        ({"requests": [exactly()], "constraints": [{}]}, "", "constraint #0: empty constraint"),
    ],
)
def test_what_cannot_be_asked_for_fails(claim: dict, off: str, problem: str) -> None:
    switched: dict[str, Any] = {off: False} if off else {}
    features = replace(DEFAULTS, **switched)
    with pytest.raises(AllocationError, match=problem):
        chosen([claim], pool("a", plain(1), nodeName="a"), features=features)


def test_features_that_are_off_leave_devices_out() -> None:
    requested_claims = [{"requests": [exactly()]}]
    binding = pool("a", plain(1, bindingConditions=["Ready"]), nodeName="a")
    tainted = pool("a", plain(1, taints=[{"key": "k", "effect": "NoExecute"}]), nodeName="a")
    assert chosen(requested_claims, binding)
    assert chosen(requested_claims, binding, features=Features(binding_conditions=False)) is None
    assert chosen(requested_claims, tainted) is None
    assert chosen(requested_claims, tainted, features=Features(taints=False))
    shared = pool("a", plain(1, allowMultipleAllocations=True), nodeName="a")
    assert chosen(requested_claims * 2, shared) == [["r a/dev00"]] * 2
    assert chosen(requested_claims * 2, shared, features=Features(consumable=False)) is None


REVISED = Features(revised_allocator=True)


def test_what_the_revision_of_1_37_says_and_chooses() -> None:
    requests = [exactly("r", count=20), exactly("s", count=13)]
    with pytest.raises(AllocationError, match="adding 13 devices exceeds the claim limit of 32, with 20 already"):
        chosen([{"requests": requests}], pool("a", plain(1), nodeName="a"), features=REVISED)
    failing = [{"requests": [exactly(selectors=[{"cel": {"expression": f'device.attributes["{DRIVER}"].x == 1'}}])]}]
    expected_error = (
        f"selector #0 on device {DRIVER}/a/dev00: CEL runtime error: no such key: x. consider using CEL optional"
    )
    with pytest.raises(AllocationError, match=expected_error):
        chosen(failing, pool("a", plain(1), nodeName="a"), features=REVISED)


def test_counters_of_other_nodes_keep_no_pool_from_a_node_since_1_37() -> None:
    counters = {"sharedCounters": [{"name": "s", "counters": {"m": {"value": "1"}}}], "devices": []}
    elsewhere = pool("p", [], count=2, nodeName="b")
    elsewhere["spec"] |= counters
    everything = [{"requests": [exactly(allocationMode="All")]}]
    own_pool = pool("own", plain(1), nodeName="a")
    with pytest.raises(AllocationError, match="is currently being updated"):
        chosen(everything, own_pool, elsewhere)
    assert chosen(everything, own_pool, elsewhere, features=REVISED) == [["r own/dev00"]]


def test_what_the_search_of_1_35_does_not_know() -> None:
    early = Features(early_allocator=True, consumable=False, binding_conditions=False)
    slices = pool("a", plain(2, allowMultipleAllocations=True), nodeName="a")
    assert chosen([{"requests": [exactly(capacity={"requests": {"m": "1"}})]}], slices, features=early)
    shared = [{"requests": [exactly(selectors=[{"cel": {"expression": "device.allowMultipleAllocations"}}])]}]
    assert chosen(shared, slices, features=early) is None
    assert chosen(shared, slices)
    distinct = [{"requests": [exactly()], "constraints": [{"distinctAttribute": "example.com/x"}]}]
    with pytest.raises(AllocationError, match="constraint #0: empty constraint"):
        chosen(distinct, slices, features=early)
    # After the first of all devices the first alternative, which wants one, has what it asks for.
    listed = [
        {"name": "one", "deviceClassName": "any", "selectors": [{"cel": {"expression": "false"}}]},
        {"name": "all", "deviceClassName": "any", "allocationMode": "All"},
    ]
    alternatives = [{"requests": [{"name": "r", "firstAvailable": listed}]}]
    assert chosen(alternatives, slices, features=early) == [["r/all a/dev00"]]
    assert chosen(alternatives, slices) == [["r/all a/dev00", "r/all a/dev01"]]


def test_an_alternative_is_refused_capacity_by_its_request_in_1_34() -> None:
    asks = {"name": "s", "deviceClassName": "any", "capacity": {"requests": {"m": "1"}}}
    requested_claims = [{"requests": [{"name": "r", "firstAvailable": [asks]}]}]
    for plainly, expected_error in ((True, "request r: has capacity"), (False, "subrequest s: has capacity")):
        with pytest.raises(AllocationError, match=f", {expected_error}"):
            chosen(
                requested_claims,
                pool("a", plain(1), nodeName="a"),
                features=Features(capacity_error_by_request=plainly, consumable=False),
            )


LOCAL = Features(node_local_pools=True, consumable=False, binding_conditions=False)


def test_a_pool_of_1_34_is_what_a_node_sees_of_it() -> None:
    part = pool("p", plain(1), count=2, nodeName="a")
    assert chosen([{"requests": [exactly()]}], part, features=LOCAL) == [["r p/dev00"]]
    assert chosen([{"requests": [exactly()]}], part) is None
    everything = [{"requests": [exactly(allocationMode="All")]}]
    with pytest.raises(AllocationError, match=f"resource pool {DRIVER}/p is currently being updated"):
        chosen(everything, part, features=LOCAL)


def test_1_34_ends_at_a_pool_with_two_devices_of_one_name() -> None:
    own_pool, twice = pool("own", plain(1), nodeName="a"), pool("p", [*plain(2), *plain(1)], nodeName="a")
    assert chosen([{"requests": [exactly()]}], own_pool, twice, features=LOCAL) == [["r own/dev00"]]
    with pytest.raises(AllocationError, match=r"^pool p is invalid: duplicate device name dev00$"):
        chosen([{"requests": [exactly(count=2)]}], own_pool, twice, features=LOCAL)
    assert chosen([{"requests": [exactly(count=2)]}], own_pool, twice) is None


def test_counters_of_1_34_are_those_of_a_slice() -> None:
    uses = [{"counterSet": "s", "counters": {"m": {"value": "2"}}}]
    devices = [device | {"consumesCounters": uses} for device in plain(3)]
    device_pool = pool("p", devices, nodeName="a")
    device_pool["spec"]["sharedCounters"] = [{"name": "s", "counters": {"m": {"value": "4"}}}]
    assert chosen([{"requests": [exactly(count=2)]}], device_pool, features=LOCAL) == [["r p/dev00", "r p/dev01"]]
    assert chosen([{"requests": [exactly(count=3)]}], device_pool, features=LOCAL) is None
    assert chosen([{"requests": [exactly()]}], device_pool) is None  # later on a slice has either counters or devices


def test_distinct_values_of_1_34_are_those_of_two_devices() -> None:
    same = pool("p", plain(2, attributes={"x": {"string": "y"}}), nodeName="a")
    requests = [exactly("one"), exactly("two")]
    requested_claims = [{"requests": requests, "constraints": [{"distinctAttribute": f"{DRIVER}/x"}]}]
    assert chosen(requested_claims, same, features=LOCAL) == [["one p/dev00", "two p/dev01"]]
    assert chosen(requested_claims, same) is None
    assert chosen(requested_claims, pool("p", plain(2), nodeName="a"), features=LOCAL) is None


def test_any_taint_keeps_claims_off_in_1_34() -> None:
    tainted = pool("p", plain(1, taints=[{"key": "k", "effect": "None"}]), nodeName="a")
    assert chosen([{"requests": [exactly()]}], tainted, features=LOCAL) is None
    assert chosen([{"requests": [exactly()]}], tainted) == [["r p/dev00"]]
    tolerant = exactly(tolerations=[{"operator": "Exists"}])
    assert chosen([{"requests": [tolerant]}], tainted, features=LOCAL) == [["r p/dev00"]]


@pytest.mark.parametrize("features", [Features(node_local_pools=True), Features(early_allocator=True)])
def test_up_to_1_35_slices_that_have_to_be_made_ready_are_the_last_of_their_pool(features: Features) -> None:
    first, second = (pool("p", devices, count=2, nodeName="a") for devices in (plain(1), [{"name": "z"}]))
    first["spec"]["devices"][0]["bindingConditions"] = ["Ready"]
    second["metadata"]["name"] = "slice-q"
    assert chosen([{"requests": [exactly()]}], first, second, features=features) == [["r p/z"]]
    assert chosen([{"requests": [exactly()]}], first, second) == [["r p/dev00"]]
