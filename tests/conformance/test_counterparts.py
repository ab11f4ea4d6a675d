"""Rules that a conversion calls equal reject the same nodes, on clusters and pods of that time.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets on how many clusters each predicate is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from kschedweb.engine.config.notes import EQUAL
from kschedweb.engine.releases.classic import Edition, load_policy
from kschedweb.engine.releases.classic.catalogue import TAINT_NODES_BY_CONDITION
from kschedweb.engine.releases.classic.conversion import convert_policy
from kschedweb.engine.releases.classic.counterparts import PREDICATES
from kschedweb.engine.scenario.classic import ClassicScenario
from kschedweb.engine.scenario.scenario import Scenario
from tests.conformance.making.classic import ClassicMaker
from tests.support import tiers

COUNT = tiers.count(20, 600)
SEED = tiers.seed()
MAX_SCENARIOS = 20 * COUNT  # until a node is rejected, which few pods bring about for some predicates
# What has come into pods since.
LATER = ("namespaceSelector", "matchLabelKeys", "mismatchLabelKeys", "restartPolicy", "overhead")
GATES = {"CheckNodeUnschedulable": [TAINT_NODES_BY_CONDITION]}
PRESENCE = {"labelsPresence": {"labels": ["disk"], "presence": True}}
NEVER_ASKED = "PodFitsPorts"
CLAIM = "persistentVolumeClaim"


def policies() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The name of a predicate, and the predicates of a policy in which it is called equal."""
    for name, counterpart in PREDICATES.items():
        if counterpart.kind == EQUAL and name != NEVER_ASKED:
            yield name, [{"name": name}]
    name = "CheckNodeLabelPresence"
    yield name, [{"name": name, "argument": PRESENCE}, {"name": "MatchNodeSelector"}]


def of_then(value: Any) -> Any:
    """Without what came later, and without claims, whose absence ends a cycle elsewhere today."""
    if isinstance(value, dict):
        return {name: of_then(inner) for name, inner in value.items() if name not in LATER}
    if isinstance(value, list):
        return [of_then(inner) for inner in value if not (isinstance(inner, dict) and CLAIM in inner)]
    return value


@pytest.mark.parametrize(("name", "predicates"), list(policies()))
def test_what_is_called_equal_rejects_the_same_nodes(name: str, predicates: list[dict[str, Any]]) -> None:
    print(f"HUNT_SEED={SEED}")
    raw = {"kind": "Policy", "apiVersion": "v1", "predicates": predicates, "priorities": []}
    gates = GATES.get(name, [])
    conversion = convert_policy(load_policy(raw).policy, Edition(gates=frozenset(gates)))
    assert {note.kind for note in conversion.notes} == {EQUAL}
    plugins = {plugin for note in conversion.notes for plugin in note.plugins}
    maker, rejections = ClassicMaker(Random(SEED)), Counter[bool]()
    for number in range(MAX_SCENARIOS):
        if number >= COUNT and rejections[True]:
            break
        drawn = maker.scenario(f"{name} {number}")
        common = {key: of_then(drawn[key]) for key in ("name", "objects", "pending")}
        old = ClassicScenario.from_json({**common, "classic": {"gates": gates}, "policy": raw}, {})
        new = Scenario.from_json({**common, "config": conversion.document})
        for before, after in zip(old.explain("each")["pods"], new.explain("each")["pods"], strict=True):
            expected = {node for predicate in predicates for node in before["predicates"].get(predicate["name"], ())}
            rejected = {node for plugin in plugins for node in after.get("filters", {}).get(plugin, ())}
            # What PreFilter leaves out is rejected by no filter.
            judged = {node for nodes in after.get("filters", {}).values() for node in nodes}
            rejected |= set(new.snapshot.names) - judged - set(after.get("feasible") or ())
            assert rejected == expected, (f"HUNT_SEED={SEED}", drawn["name"], before["pod"])
            rejections[bool(expected)] += 1
    assert rejections[True], "no node was ever rejected"
