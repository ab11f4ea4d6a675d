"""Moves from a classic policy to a profile, by the answers of the real kube-scheduler 1.13 and today's.

``HUNT_SEED`` repeats a run.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kschedweb.engine import Pod
from kschedweb.engine.releases.classic.comparison import compare_pods
from kschedweb.engine.scenario.classic import ClassicScenario
from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.classic import ClassicReference
from tests.conformance.hunting import SEED
from tests.conformance.making.classic import ClassicMaker
from tests.conformance.moves import PROFILES, check, of_today
from tests.conformance.reference import Reference

COUNT = 40


@pytest.mark.live
def test_moves_are_what_both_real_schedulers_answers_come_to(
    classic_reference: ClassicReference, reference: Reference
) -> None:
    print(f"HUNT_SEED={SEED}")
    names = [f"moves-{SEED}-{number}" for number in range(COUNT)]
    scenarios = [ClassicMaker(Random(f"{SEED}/classic/{name}")).scenario(name) | {"mode": "each"} for name in names]
    today = [
        reference.with_release(of_today(drawn, PROFILES[number % len(PROFILES)]))
        for number, drawn in enumerate(scenarios)
    ]
    first = [answer for _, answer in classic_reference.answers(scenarios, part=1)]
    second = reference.answers("explain", today)
    verdicts = []
    for then, now, *answers in zip(scenarios, today, first, second, strict=True):
        if any("error" in answer for answer in answers):
            continue
        classic, scenario = ClassicScenario.from_json(then, {}), Scenario.from_json(now)
        pods = zip(scenario.pending, *(answer["pods"] or () for answer in answers), strict=True)
        for pod, theirs, ours in pods:
            # They are asked each predicate on each node: a cycle may end before, or not come so far.
            if "error" in theirs or pod.gates or not claims_there(pod, then["objects"]):
                continue
            both_sides = classic.snapshot, scenario.snapshot, classic.algorithm, scenario.configuration
            move = next(compare_pods(*both_sides, [pod]))
            check(move, theirs, ours)
            verdicts.append(move.verdict)
    assert len(verdicts) > COUNT
    assert len(set(verdicts)) > 2  # of so few pods a verdict may be missing


def claims_there(pod: Pod, objects: list[dict[str, Any]]) -> bool:
    """Return whether all claims of the pod exist and stay, which a cycle checks first."""
    lasting_claims = {
        (raw["metadata"].get("namespace") or "default", raw["metadata"]["name"])
        for raw in objects
        if raw["kind"] == "PersistentVolumeClaim" and not raw["metadata"].get("deletionTimestamp")
    }
    sources = [volume.get("persistentVolumeClaim") for volume in pod.raw["spec"].get("volumes") or ()]
    return all((pod.namespace, source["claimName"]) in lasting_claims for source in sources if source)
