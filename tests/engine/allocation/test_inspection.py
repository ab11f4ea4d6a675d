"""What is told about each device agrees with the search: chosen devices pass, and what is refused is named."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.features import DEFAULTS
from kschedweb.engine.allocation.inspection import (
    AllocationRefusal,
    Inspection,
    ObjectionReason,
    RefusalReason,
    inspect_node,
)
from kschedweb.engine.allocation.request_data import AllocationError
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.plugins.dynamicresources.inspecting import inspect_pod
from kschedweb.engine.plugins.dynamicresources.verdicts import claims_to_allocate
from kschedweb.engine.state.devices.needs import ClaimError, needs_of
from kschedweb.engine.state.snapshot import Snapshot
from tests.conformance.making.devices import DeviceMaker
from tests.engine.allocation.test_allocation_search import DRIVER, exactly, first_of, plain, pool, resource
from tests.engine.builders import node
from tests.support import tiers

COUNT = tiers.count(60, 2000)


def drawn(count: int) -> Any:
    """(claims, allocator, row) of pods and nodes that nobody chose by hand."""
    maker = DeviceMaker(Random(f"{tiers.seed()}/inspected"))
    for number in range(count):
        scenario = maker.scenario(f"inspected-{number}")
        snapshot = Snapshot.from_objects([*scenario["objects"], *scenario["pending"]])
        for pod in snapshot.pending:
            try:
                needs = needs_of(snapshot, pod)
            except ClaimError:
                continue
            if needs.needs_allocator:
                for claims, nodes in claims_to_allocate(snapshot, pod, needs):
                    for row in nodes.nonzero()[0].tolist():
                        yield claims, Allocator(snapshot, DEFAULTS), row, snapshot


def test_what_is_told_agrees_with_the_search() -> None:
    seen = set[str]()
    for claims, allocator, row, snapshot in drawn(COUNT):
        code, outcomes = allocator.find_outcomes(claims, snapshot_mask(snapshot, row))
        outcome = outcomes[code[row]]
        told = inspect_node(allocator, claims, row, snapshot.resource_claims.claims_by_device())
        assert told.has_devices == outcome.ok
        assert (told.failed, told.unknown) == (outcome.failed, outcome.unknown)
        assert bool(told.refusals) == bool(outcome.rejected)
        seen.update([str(one.why) for one in told.refusals])
        if told.has_devices:
            chosen_devices_pass(told, allocator, claims, row)
        for refusal in told.refusals:
            holds(refusal, told, allocator, claims, row)
    assert seen == {"short", "constraint", "together"}


def snapshot_mask(snapshot: Snapshot, row: int) -> Any:
    mask = snapshot.pod_count < 0
    mask[row] = True
    return mask


def chosen_devices_pass(told: Inspection, allocator: Allocator, claims: Sequence[ResourceClaim], row: int) -> None:
    results = allocator.allocate_claims(claims, row)
    assert results is not None
    expected = sorted((one.claim.key, each.request, each.device) for one in results for each in one.allocation.devices)
    chosen = sorted(
        (choice.claim, choice.name, one.device) for choice in told.choices for one in choice.devices if one.chosen
    )
    assert chosen == expected
    assert all(one.passes for choice in told.choices for one in choice.devices if one.chosen)


def holds(
    refusal: AllocationRefusal, told: Inspection, allocator: Allocator, claims: Sequence[ResourceClaim], row: int
) -> None:
    """The search itself agrees with what a refusal says."""

    def enough(asked: Sequence[ResourceClaim]) -> bool:
        try:
            return allocator.allocate_claims(asked, row) is not None
        except AllocationError:
            return True  # the search got further, to a selector that has no value

    (claim,) = [one for one in claims if one.key == refusal.claim]
    if refusal.why is RefusalReason.CONSTRAINT:
        assert refusal.constraint in claim.constraints
        assert enough([replace(one, constraints=()) for one in claims])
        return
    place, number = claims.index(claim), [one.name for one in claim.requests].index(refusal.request)
    free = [replace(one, constraints=()) for one in claims]
    if refusal.why is RefusalReason.TOGETHER:
        assert enough([*free[:place], replace(free[place], requests=claim.requests[:number])])
        assert not enough([*free[:place], replace(free[place], requests=claim.requests[: number + 1])])
        return
    alone = replace(claim, requests=(claim.requests[number],))
    with suppress(AllocationError):
        assert allocator.allocate_claims([alone], row) is None
    of_request = [one for one in told.choices if (one.claim, one.request) == (claim.key, refusal.request)]
    assert all(one.passing < max(one.required_count, 1) for one in of_request)


def told(claims: list[dict], *slices: dict, **of_class: Any) -> Inspection:
    """What is told of the node ``a``."""
    listed = [resource("ResourceClaim", f"c{number}", {"devices": spec}) for number, spec in enumerate(claims)]
    objects = [node("a"), node("b"), resource("DeviceClass", "any", of_class), *slices, *listed]
    snapshot = Snapshot.from_objects(objects)
    found = [snapshot.resource_claims.get("default", item["metadata"]["name"]) for item in listed]
    wanted = [claim for claim in found if claim is not None]
    return inspect_node(
        Allocator(snapshot, DEFAULTS), wanted, snapshot.index["a"], snapshot.resource_claims.claims_by_device()
    )


def cel(expression: str) -> dict:
    return {"cel": {"expression": expression}}


def test_each_expression_is_told_with_its_answer_or_its_error() -> None:
    said = [
        cel(f'device.driver == "{DRIVER}"'),
        cel(f'device.attributes["{DRIVER}"].model == "a"'),
        cel("duration('1s') == duration('1s')"),
    ]
    devices = plain(2)
    devices[1]["attributes"] = {"model": {"string": "b"}}
    found = told([{"requests": [exactly(selectors=said[1:])]}], pool("p", devices, nodeName="a"), selectors=said[:1])
    first, second = (device.selectors for device in found.choices[0].devices)
    assert [one.owner for one in first] == [
        "class any: selector #0",
        "claim default/c0: selector #0",
        "claim default/c0: selector #1",
    ]
    assert [one.accepts for one in first] == [True, None, None]
    assert first[1].problem == "CEL runtime error: no such key: model"
    assert [one.outside for one in first] == [False, False, True]
    assert second[1].accepts is False
    assert found.failed == "claim default/c0: selector #0: CEL runtime error: no such key: model"


@pytest.mark.parametrize(
    ("fields", "asks", "why"),
    [
        ({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}, {}, ObjectionReason.TAINTED),
        ({"capacity": {"m": {"value": "1Gi"}}}, {"capacity": {"requests": {"m": "2Gi"}}}, ObjectionReason.CAPACITY),
    ],
)
def test_what_keeps_a_device_from_a_request_is_named(fields: dict, asks: dict, why: ObjectionReason) -> None:
    found = told([{"requests": [exactly(**asks)]}], pool("p", plain(1, **fields), nodeName="a"))
    ((objection,),) = (device.objections for device in found.choices[0].devices)
    assert objection.why is why
    assert objection.names == (("k=v:NoSchedule",) if why is ObjectionReason.TAINTED else ())
    assert [(one.name, one.requested > one.available) for one in objection.lacks] == (
        [] if objection.names else [("m", True)]
    )
    assert [one.why for one in found.refusals] == [RefusalReason.SHORT]


def test_counters_that_do_not_suffice_are_named() -> None:
    sets = resource(
        "ResourceSlice",
        "counters",
        {
            "driver": DRIVER,
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 2},
            "sharedCounters": [{"name": "s", "counters": {"slices": {"value": "7"}}}],
            "nodeName": "a",
        },
    )
    wants = {"consumesCounters": [{"counterSet": "s", "counters": {"slices": {"value": "4"}}}]}
    parts = pool("p", plain(2, **wants), nodeName="a", count=2)
    two = told([{"requests": [exactly(count=2)]}], parts, sets)
    assert two.choices[0].passing == 2
    assert [one.why for one in two.refusals] == [RefusalReason.TOGETHER]
    (large,) = told([{"requests": [exactly()]}], pool("p", plain(1, **as_many(8)), nodeName="a", count=2), sets).choices
    ((objection,),) = (device.objections for device in large.devices)
    assert (objection.why, [one.name for one in objection.lacks]) == (ObjectionReason.COUNTERS, ["s/slices"])


def as_many(slices: int) -> dict:
    return {"consumesCounters": [{"counterSet": "s", "counters": {"slices": {"value": str(slices)}}}]}


def test_alternatives_are_told_one_by_one_and_the_constraint_that_forbids_is_named() -> None:
    devices = plain(2)
    for number, device in enumerate(devices):
        device["attributes"] = {"example.com/socket": {"int": number}}
    same = [{"matchAttribute": "example.com/socket"}]
    found = told([{"requests": [first_of("r", 3, 2)], "constraints": same}], pool("p", devices, nodeName="a"))
    assert [(one.name, one.is_short) for one in found.choices] == [("r/s3", True), ("r/s2", False)]
    assert [device.compared for device in found.choices[1].devices] == [
        (("example.com/socket", "0"),),
        (("example.com/socket", "1"),),
    ]
    ((refusal,)) = found.refusals
    assert (refusal.why, refusal.constraint and refusal.constraint.attribute) == (
        RefusalReason.CONSTRAINT,
        "example.com/socket",
    )


def test_a_device_in_use_is_told_with_the_claim_that_has_it() -> None:
    result = {"request": "r", "driver": DRIVER, "pool": "p", "device": "dev00"}
    listed = [
        node("a"),
        resource("DeviceClass", "any", {}),
        pool("p", plain(2), nodeName="a"),
        resource("ResourceClaim", "wants", {"devices": {"requests": [exactly()]}}),
        resource("ResourceClaim", "has", {"devices": {"requests": [exactly()]}})
        | {"status": {"allocation": {"devices": {"results": [result]}}}},
    ]
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [
                {"name": "x", "resourceClaimName": "wants"},
                {"name": "y", "resourceClaimName": "has"},
            ],
        },
    }
    snapshot = Snapshot.from_objects([*listed, pod])
    found = inspect_pod(snapshot, snapshot.get_pod("default/p"), "a", DEFAULTS)
    assert [(one.claim, one.usable, len(one.devices)) for one in found.held] == [("default/has", True, 1)]
    assert found.searched is not None
    first, second = found.searched.choices[0].devices
    assert (first.holders, [one.why for one in first.objections], first.chosen) == (
        ("default/has",),
        [ObjectionReason.IN_USE],
        False,
    )
    assert (second.holders, second.chosen, second.chosen_for) == ((), True, ("default/wants r",))
