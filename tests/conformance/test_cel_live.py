"""Expressions that nobody wrote, evaluated by the engine and by the real scheduler: verdicts and errors are equal."""

from __future__ import annotations

from random import Random

import pytest

from tests.conformance.hunting import differing
from tests.conformance.making.expressions import DEVICE, DRIVER, ExpressionMaker
from tests.conformance.reference import Reference
from tests.support import tiers

pytestmark = pytest.mark.live

SEED = tiers.seed()
COUNT = tiers.count(300, 3000)
TOGETHER = 30  # expressions of one scenario, each in a claim of its own
API = "resource.k8s.io/v1"


def scenario(name: str, expressions: list[str]) -> dict:
    """A node with one device, and a pod for each expression."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n", "pool": pool, "devices": [DEVICE]}
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"pods": "110"}}},
        {"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}},
        {"apiVersion": API, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec},
    ]
    pods = []
    for number, expression in enumerate(expressions):
        exactly = {
            "deviceClassName": "any",
            "allocationMode": "ExactCount",
            "count": 1,
            "selectors": [{"cel": {"expression": expression}}],
        }
        claim = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        metadata = {"name": f"c{number}", "namespace": "default", "uid": f"c{number}"}
        objects.append({"apiVersion": API, "kind": "ResourceClaim", "metadata": metadata, "spec": claim})
        wants = [{"name": "r", "resourceClaimName": f"c{number}"}]
        pod = {"name": f"p{number}", "namespace": "default", "uid": f"p{number}"}
        container = {"name": "c", "image": "x", "resources": {"claims": [{"name": "r"}]}}
        spec = {"containers": [container], "resourceClaims": wants}
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": pod, "spec": spec, "status": {}})
    return {"name": name, "objects": objects, "pending": pods, "mode": "each"}


def test_a_device_meets_a_selector_where_kube_scheduler_says_so(reference: Reference) -> None:
    maker = ExpressionMaker(Random(f"{SEED}/expressions"))
    made = [maker.expression() for _ in range(COUNT)]
    asked = [scenario(f"cel-{SEED}-{at}", made[at : at + TOGETHER]) for at in range(0, COUNT, TOGETHER)]
    told = []
    for one, ours, expected in differing(reference, "explain", asked):
        claims = [item for item in one["objects"] if item["kind"] == "ResourceClaim"]
        for claim, mine, theirs in zip(claims, ours.get("pods") or [], expected.get("pods") or [], strict=False):
            if mine != theirs:
                (request,) = claim["spec"]["devices"]["requests"]
                told.append((request["exactly"]["selectors"][0]["cel"]["expression"], mine, theirs))
    assert told == [], f"HUNT_SEED={SEED}: {len(told)} of {COUNT} differ"
