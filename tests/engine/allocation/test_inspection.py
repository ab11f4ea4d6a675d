"""Inspection of each device agrees with the search: chosen devices pass, and each refusal is named."""

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
                needs = needs_of(snapshot, pod, snapshot.objects.devices.extended_resources)
            except ClaimError:
                continue
            if needs.needs_allocator:
                for claims, nodes in claims_to_allocate(snapshot, pod, needs):
                    for row in nodes.nonzero()[0].tolist():
                        yield claims, Allocator(snapshot, DEFAULTS), row, snapshot


def test_what_is_told_agrees_with_the_search() -> None:
    refusal_kinds = set[str]()
    for claims, allocator, row, snapshot in drawn(COUNT):
        code, outcomes = allocator.find_outcomes(claims, snapshot_mask(snapshot, row))
        outcome = outcomes[code[row]]
        inspection = inspect_node(allocator, claims, row, snapshot.resource_claims.claims_by_device())
        assert inspection.has_devices == outcome.ok
        assert (inspection.failed, inspection.unknown) == (outcome.failed, outcome.unknown)
        assert bool(inspection.refusals) == bool(outcome.rejected)
        refusal_kinds.update([str(refusal.why) for refusal in inspection.refusals])
        if inspection.has_devices:
            chosen_devices_pass(inspection, allocator, claims, row)
        for refusal in inspection.refusals:
            holds(refusal, inspection, allocator, claims, row)
    assert refusal_kinds == {"short", "constraint", "together"}


def snapshot_mask(snapshot: Snapshot, row: int) -> Any:
    mask = snapshot.pod_count < 0
    mask[row] = True
    return mask


def chosen_devices_pass(
    inspection: Inspection, allocator: Allocator, claims: Sequence[ResourceClaim], row: int
) -> None:
    results = allocator.allocate_claims(claims, row)
    assert results is not None
    expected = sorted(
        (result.claim.key, device.request, device.device) for result in results for device in result.allocation.devices
    )
    chosen = sorted(
        (choice.claim, choice.name, device.device)
        for choice in inspection.choices
        for device in choice.devices
        if device.chosen
    )
    assert chosen == expected
    assert all(device.passes for choice in inspection.choices for device in choice.devices if device.chosen)


def holds(
    refusal: AllocationRefusal, inspection: Inspection, allocator: Allocator, claims: Sequence[ResourceClaim], row: int
) -> None:
    """The search itself agrees with what a refusal says."""

    def enough(requested_claims: Sequence[ResourceClaim]) -> bool:
        try:
            return allocator.allocate_claims(requested_claims, row) is not None
        except AllocationError:
            return True  # the search got further, to a selector that has no value

    (claim,) = [candidate for candidate in claims if candidate.key == refusal.claim]
    if refusal.why is RefusalReason.CONSTRAINT:
        assert refusal.constraint in claim.constraints
        assert enough([replace(candidate, constraints=()) for candidate in claims])
        return
    place, number = claims.index(claim), [request.name for request in claim.requests].index(refusal.request)
    free = [replace(candidate, constraints=()) for candidate in claims]
    if refusal.why is RefusalReason.TOGETHER:
        assert enough([*free[:place], replace(free[place], requests=claim.requests[:number])])
        assert not enough([*free[:place], replace(free[place], requests=claim.requests[: number + 1])])
        return
    alone = replace(claim, requests=(claim.requests[number],))
    with suppress(AllocationError):
        assert allocator.allocate_claims([alone], row) is None
    of_request = [
        choice for choice in inspection.choices if (choice.claim, choice.request) == (claim.key, refusal.request)
    ]
    assert all(choice.passing < max(choice.required_count, 1) for choice in of_request)


def inspect_claims(claims: list[dict], *slices: dict, **of_class: Any) -> Inspection:
    """Return the inspection of the node ``a``."""
    listed = [resource("ResourceClaim", f"c{number}", {"devices": spec}) for number, spec in enumerate(claims)]
    objects = [node("a"), node("b"), resource("DeviceClass", "any", of_class), *slices, *listed]
    snapshot = Snapshot.from_objects(objects)
    claims_or_none = [snapshot.resource_claims.get("default", item["metadata"]["name"]) for item in listed]
    requested_claims = [claim for claim in claims_or_none if claim is not None]
    return inspect_node(
        Allocator(snapshot, DEFAULTS),
        requested_claims,
        snapshot.index["a"],
        snapshot.resource_claims.claims_by_device(),
    )


def cel(expression: str) -> dict:
    return {"cel": {"expression": expression}}


def test_each_expression_is_told_with_its_answer_or_its_error() -> None:
    expressions = [
        cel(f'device.driver == "{DRIVER}"'),
        cel(f'device.attributes["{DRIVER}"].model == "a"'),
        cel("duration('1s') == duration('1s')"),
    ]
    devices = plain(2)
    devices[1]["attributes"] = {"model": {"string": "b"}}
    inspection = inspect_claims(
        [{"requests": [exactly(selectors=expressions[1:])]}],
        pool("p", devices, nodeName="a"),
        selectors=expressions[:1],
    )
    first, second = (device.selectors for device in inspection.choices[0].devices)
    assert [selector.owner for selector in first] == [
        "class any: selector #0",
        "claim default/c0: selector #0",
        "claim default/c0: selector #1",
    ]
    assert [selector.accepts for selector in first] == [True, None, None]
    assert first[1].problem == "CEL runtime error: no such key: model"
    assert [selector.outside for selector in first] == [False, False, True]
    assert second[1].accepts is False
    assert inspection.failed == "claim default/c0: selector #0: CEL runtime error: no such key: model"


@pytest.mark.parametrize(
    ("fields", "asks", "why"),
    [
        ({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}, {}, ObjectionReason.TAINTED),
        ({"capacity": {"m": {"value": "1Gi"}}}, {"capacity": {"requests": {"m": "2Gi"}}}, ObjectionReason.CAPACITY),
    ],
)
def test_what_keeps_a_device_from_a_request_is_named(fields: dict, asks: dict, why: ObjectionReason) -> None:
    inspection = inspect_claims([{"requests": [exactly(**asks)]}], pool("p", plain(1, **fields), nodeName="a"))
    ((objection,),) = (device.objections for device in inspection.choices[0].devices)
    assert objection.why is why
    assert objection.names == (("k=v:NoSchedule",) if why is ObjectionReason.TAINTED else ())
    assert [(shortage.name, shortage.requested > shortage.available) for shortage in objection.lacks] == (
        [] if objection.names else [("m", True)]
    )
    assert [refusal.why for refusal in inspection.refusals] == [RefusalReason.SHORT]


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
    two = inspect_claims([{"requests": [exactly(count=2)]}], parts, sets)
    assert two.choices[0].passing == 2
    assert [refusal.why for refusal in two.refusals] == [RefusalReason.TOGETHER]
    (large,) = inspect_claims(
        [{"requests": [exactly()]}], pool("p", plain(1, **as_many(8)), nodeName="a", count=2), sets
    ).choices
    ((objection,),) = (device.objections for device in large.devices)
    assert (objection.why, [shortage.name for shortage in objection.lacks]) == (ObjectionReason.COUNTERS, ["s/slices"])


def as_many(slices: int) -> dict:
    return {"consumesCounters": [{"counterSet": "s", "counters": {"slices": {"value": str(slices)}}}]}


def test_alternatives_are_told_one_by_one_and_the_constraint_that_forbids_is_named() -> None:
    devices = plain(2)
    for number, device in enumerate(devices):
        device["attributes"] = {"example.com/socket": {"int": number}}
    same = [{"matchAttribute": "example.com/socket"}]
    inspection = inspect_claims(
        [{"requests": [first_of("r", 3, 2)], "constraints": same}], pool("p", devices, nodeName="a")
    )
    assert [(choice.name, choice.is_short) for choice in inspection.choices] == [("r/s3", True), ("r/s2", False)]
    assert [device.compared for device in inspection.choices[1].devices] == [
        (("example.com/socket", "0"),),
        (("example.com/socket", "1"),),
    ]
    ((refusal,)) = inspection.refusals
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
    inspection = inspect_pod(snapshot, snapshot.get_pod("default/p"), "a", DEFAULTS)
    assert [(holder.claim, holder.usable, len(holder.devices)) for holder in inspection.held] == [
        ("default/has", True, 1)
    ]
    assert inspection.searched is not None
    first, second = inspection.searched.choices[0].devices
    assert (first.holders, [objection.why for objection in first.objections], first.chosen) == (
        ("default/has",),
        [ObjectionReason.IN_USE],
        False,
    )
    assert (second.holders, second.chosen, second.chosen_for) == ((), True, ("default/wants r",))
