"""Pending pods that nobody wrote, their fixes, and scenarios in which a fix is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.scenario.reading import ScenarioError
from kschedweb.engine.scenario.scenario import Scenario
from kschedweb.engine.studies.fixes.changes import Fix, ObjectKey
from kschedweb.engine.studies.fixes.search import find_fixes
from tests.conformance.hunting import draw_scenarios

KINDS = ("mixed", "classes", "amounts", "volumes", "devices", "explained")


class FixedPod(NamedTuple):
    """A drawn pod that fits nowhere, with its fixes."""

    scenario: Json
    pod: Json
    fixes: list[Fix]


def key_of(raw: Json) -> ObjectKey:
    metadata = raw["metadata"]
    namespace = "" if raw["kind"] == "Node" else metadata.get("namespace") or ""
    return raw["kind"], namespace or ("default" if raw["kind"] == "Pod" else ""), metadata["name"]


def draw_fixed_pods(seed: int, count: int, release: str = "") -> Iterator[FixedPod]:
    """Yield ``count`` pods without a node that have a fix at least, from scenarios of several kinds in turn."""
    batch = 0
    remaining = count
    while remaining:
        for kind in KINDS:
            for scenario in draw_scenarios(kind, seed + batch, 12):
                for fixed_pod in _fix_scenario({**scenario, "release": release, "mode": "each"}):
                    yield fixed_pod
                    remaining -= 1
                    if not remaining:
                        return
        batch += 1


def _fix_scenario(raw: Json) -> Iterator[FixedPod]:
    """Yield the pods of a scenario that have fixes, at most three."""
    try:
        scenario = Scenario.from_json(raw)
    except ScenarioError:
        return
    scheduler = scenario.create_scheduler(None)
    raw_pods = {key_of(pod): pod for pod in raw["pending"]}
    count = 0
    for pod in scenario.pending:
        if scheduler.snapshot.objects.groups.group_of(pod) is not None or count == 3:
            continue
        fixes = find_fixes(scheduler, pod)
        if fixes:
            count += 1
            yield FixedPod(raw, raw_pods["Pod", pod.namespace, pod.name], fixes)


def make_fix(scenario: Json, pod: Json, fix: Fix) -> Json:
    """Return the scenario with the changes of ``fix`` made to its objects, and only the pod pending."""
    objects = {key_of(raw): raw for raw in [*scenario["objects"], pod]}
    changed = fix.edit_objects(objects)
    own_key = key_of(pod)
    pending = changed.pop(own_key, pod)
    del objects[own_key]
    other_pods = [raw for raw in scenario["pending"] if key_of(raw) not in (own_key, *changed)]
    nominated = [raw for raw in other_pods if (raw.get("status") or {}).get("nominatedNodeName")]
    # Pods that wait count only where they are promised a node.
    return {**scenario, "objects": list({**objects, **changed}.values()), "pending": [pending, *nominated]}
