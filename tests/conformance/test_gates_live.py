"""What small feature gates decide, with each of them on, held against the real scheduler."""

from __future__ import annotations

from random import Random

import pytest

from tests.conformance.hunting import differing, report
from tests.conformance.reference import Reference
from tests.engine.builders import CONFIGURATION, node, pod
from tests.support import tiers

pytestmark = pytest.mark.live

SEED = tiers.seed()
COUNT = tiers.count(40, 400)
VALUES = ["-7", "0", "3", "10", "007", "+3", "-0", "1.5", "", "high", "9223372036854775807", "9223372036854775808"]


def tolerating(random: Random, name: str) -> dict:
    """Nodes with taints of numbers, and pods that compare them; some spread over the nodes that they tolerate."""

    def taint() -> dict:
        effect = random.choice(["NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"])
        return {"key": random.choice(["age", "cost"]), "value": random.choice(VALUES), "effect": effect}

    def toleration() -> dict:
        operator = random.choice(["Gt", "Lt", "Gt", "Lt", "Equal", "Exists"])
        found = {"key": random.choice(["age", "cost"]), "operator": operator}
        return found if operator == "Exists" else found | {"value": random.choice(VALUES)}

    def spread() -> dict:
        how = random.choice(["DoNotSchedule", "ScheduleAnyway"])
        key = random.choice(["zone", "kubernetes.io/hostname"])
        return {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": how,
            "labelSelector": {"matchLabels": {"app": "a"}},
            "nodeTaintsPolicy": random.choice(["Honor", "Ignore"]),
        }

    nodes = [
        node(f"n{number}", labels={"zone": random.choice("xyz")}, taints=[taint() for _ in range(random.randint(0, 2))])
        for number in range(8)
    ]
    pods = [
        pod(
            f"p{number}",
            labels={"app": "a"},
            tolerations=[toleration() for _ in range(random.randint(0, 3))],
            topologySpreadConstraints=[spread() for _ in range(random.randint(0, 1))],
        )
        for number in range(12)
    ]
    config = CONFIGURATION | {"parallelism": 1}
    return {"name": name, "config": config, "objects": nodes, "pending": pods, "mode": "sequence"}


@pytest.mark.parametrize("mode", ["explain", "schedule"])
def test_tolerations_compare_as_the_real_ones(reference: Reference, mode: str) -> None:
    comparing = reference.with_gates(TaintTolerationComparisonOperators=True)
    asked = [tolerating(Random(f"{SEED}/{number}"), f"tolerating-{SEED}-{number}") for number in range(COUNT)]
    found = list(differing(comparing, mode, asked))
    assert not found, f"HUNT_SEED={SEED}: {len(found)} of {COUNT} differ:\n" + report(comparing, mode, found[0])
