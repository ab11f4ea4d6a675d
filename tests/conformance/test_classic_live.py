"""At least three hundred classic scenarios nobody wrote, in each run: no difference to kube-scheduler 1.13 is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kschedweb.engine.releases.classic import PolicyError, Registry, load_policy
from tests.conformance.classic import ClassicReference, differing, report
from tests.conformance.hunting import SEED
from tests.conformance.making.classic import ClassicMaker
from tests.engine.releases.classic.support import POLICY
from tests.support import tiers

COUNT = tiers.count(224, 3000)


@pytest.mark.live
def test_the_engine_decides_as_the_real_classic_scheduler(classic_reference: ClassicReference) -> None:
    print(f"HUNT_SEED={SEED}")
    names = [f"classic-{SEED}-{number}" for number in range(COUNT)]
    scenarios = [ClassicMaker(Random(f"{SEED}/classic/{name}")).scenario(name) for name in names]
    differences = differing(classic_reference, scenarios)
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first of them:\n" + report(
        classic_reference, differences[0]
    )


def shaped(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    argument = {"requestedToCapacityRatioArguments": {"shape": shape}}
    return {"priorities": [{"name": "Ratio", "weight": 1, "argument": argument}]}


def managing(*names: str) -> dict[str, Any]:
    return {"extenders": [{"managedResources": [{"name": name} for name in names]}]}


MISTAKES: list[dict[str, Any]] = [
    {"kind": "Foo"},
    {"apiVersion": "v2"},
    {"predicates": [{"name": "Nope"}]},
    {"priorities": [{"name": "Nope", "weight": 1}]},
    {"predicates": [{"name": "CheckNodeLabelPresence"}]},
    {"predicates": [{"name": "CheckNodeUnschedulable"}]},
    {"priorities": [{"name": "ResourceLimitsPriority", "weight": 1}]},
    {"priorities": [{"name": "EqualPriority"}, {"name": "ImageLocalityPriority", "weight": -1}]},
    {"priorities": [{"name": "EqualPriority", "weight": (2**63 - 1) // 10}]},
    {
        "priorities": [
            {"name": "EqualPriority", "weight": (2**63 - 1) // 10 - 1},
            {"name": "ImageLocalityPriority", "weight": 9},
        ]
    },
    {"hardPodAffinitySymmetricWeight": 101},
    {"hardPodAffinitySymmetricWeight": -1},
    {"predicates": [{"name": "AB", "argument": {"labelsPresence": {}, "serviceAffinity": {}}}]},
    {"predicates": [{"name": "A", "argument": {"labelsPresence": {}}}]},
    {"priorities": [{"name": "AB", "weight": 1, "argument": {}}]},
    shaped(),
    shaped((50, 1), (50, 2)),
    shaped((-1, 1)),
    shaped((101, 1)),
    shaped((1, -1)),
    shaped((1, 11)),
    {"extenders": [{"urlPrefix": "http://a", "prioritizeVerb": "p"}]},
    {"extenders": [{"bindVerb": "a"}, {"BINDVERB": "b"}]},
    managing("example.com/x", "example.com/x"),
    managing("cpu", "", "a/b/c", "-/x", f"example.com/{'x' * 64}", "kubernetes.io/x"),
]


@pytest.mark.live
def test_mistakes_in_policies_are_told_in_the_originals_words(classic_reference: ClassicReference) -> None:
    scenarios = [{"name": str(fields), "objects": [], "pending": [], "policy": POLICY | fields} for fields in MISTAKES]
    for fields, (_, answer) in zip(MISTAKES, classic_reference.answers(scenarios, part=1), strict=True):
        message = answer["error"].partition(' in scheme "')[0]
        assert said_by_us(POLICY | fields) == message


def said_by_us(policy: dict[str, Any]) -> str:
    loaded = load_policy(policy)
    problems = list(loaded.problems)
    if loaded.policy is not None:
        with pytest.raises(PolicyError) as caught:
            Registry().build_algorithm(loaded.policy)
        problems += caught.value.problems
    # What is known or needed instead comes on top of the original's words.
    words = [problem.text.partition("; ")[0] for problem in problems]
    return words[0] if len(words) == 1 else f"[{', '.join(words)}]"
