"""Feature gates and their effects."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from kschedweb.engine.allocation.features import DEFAULTS, Features


@pytest.mark.parametrize(
    ("gate", "feature"),
    [
        ("DRAAdminAccess", "admin"),
        ("DRAPrioritizedList", "prioritized"),
        ("DRAPartitionableDevices", "partitionable"),
        ("DRADeviceTaints", "taints"),
        ("DRADeviceBindingConditions", "binding_conditions"),
        ("DRAResourceClaimDeviceStatus", "binding_conditions"),
        ("DRAConsumableCapacity", "consumable"),
        ("DRAExtendedResource", "extended"),
        ("DRADeviceTaintRules", "taint_rules"),
        ("DRAFractionalCapacityRange", "fractional"),
    ],
)
def test_a_gate_switches_one_feature(gate: str, feature: str) -> None:
    everything = replace(DEFAULTS, taint_rules=True, fractional=True)
    assert asdict(Features.from_gates(lambda name: name != gate)) == {**asdict(everything), feature: False}
    assert Features.from_gates(lambda name: True) == everything


@pytest.mark.parametrize(
    ("features", "refused"),
    [
        (Features(), False),
        (Features(consumable=False), True),
        (Features(consumable=False, binding_conditions=False), False),
        (Features(consumable=False, binding_conditions=False, capacity_error_with_status=True), True),
        (Features(capacity_error_with_status=True), False),
    ],
)
def test_capacity_is_refused_by_the_allocators_that_look_at_it(features: Features, refused: bool) -> None:
    assert features.refuses_capacity is refused
