"""Conditions on the devices of one claim, as the search adds and removes them."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.allocation.constraints import create_constraint
from kschedweb.engine.objects.devicerequests import DeviceConstraint
from kschedweb.engine.objects.devices import Device

DRIVER = "gpu.example.com"


def device(**attributes: Any) -> Device:
    return Device.from_json({"name": "d", "attributes": attributes}, "")


def test_the_first_device_decides_which_value_the_others_need() -> None:
    same = create_constraint(DeviceConstraint(frozenset(), f"{DRIVER}/model"))
    first_device, other = device(model={"string": "x"}), device(model={"string": "y"})
    assert same.add("r", "r", first_device, DRIVER)
    assert not same.add("r", "r", other, DRIVER)
    same.remove("r", "r")
    assert same.add("r", "r", other, DRIVER)


def test_values_of_different_types_differ_and_what_is_missing_never_matches() -> None:
    same = create_constraint(DeviceConstraint(frozenset(), "example.com/n"))
    assert not same.add("r", "r", device(n={"int": 1}), DRIVER)  # in the driver's domain, not in this one
    assert same.add("r", "r", device(**{"example.com/n": {"int": 1}}), DRIVER)
    assert not same.add("r", "r", device(**{"example.com/n": {"bool": True}}), DRIVER)


def test_a_constraint_concerns_the_requests_that_it_names() -> None:
    same = create_constraint(DeviceConstraint(frozenset({"r/s"}), f"{DRIVER}/model"))
    assert same.add("r", "r/s", device(model={"string": "x"}), DRIVER)
    assert same.add("r", "r/t", device(model={"string": "y"}), DRIVER)
    assert not same.add("r", "r/s", device(model={"string": "y"}), DRIVER)


def test_distinct_values_and_the_one_that_kube_scheduler_forgets() -> None:
    distinct = create_constraint(DeviceConstraint(frozenset(), f"{DRIVER}/model", distinct=True))
    x, y = device(model={"string": "x"}), device(model={"string": "y"})
    assert distinct.add("a", "a", x, DRIVER)
    assert not distinct.add("b", "b", x, DRIVER)
    assert distinct.add("a", "a", y, DRIVER)
    # Of two devices of one request only the last one counts.
    assert distinct.add("b", "b", x, DRIVER)


def test_distinct_values_as_they_are_counted_since_1_37() -> None:
    distinct = create_constraint(
        DeviceConstraint(frozenset(), f"{DRIVER}/model", distinct=True), count_all_devices=True
    )
    x, y = device(model={"string": "x"}), device(model={"string": "y"})
    assert distinct.add("a", "a", x, DRIVER)
    assert distinct.add("a", "a", y, DRIVER)
    assert not distinct.add("b", "b", x, DRIVER)
    distinct.remove("a", "a")
    assert distinct.add("b", "b", y, DRIVER)
    assert not distinct.add("c", "c", device(), DRIVER)
