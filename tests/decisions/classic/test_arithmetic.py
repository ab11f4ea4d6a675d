"""The arithmetic shown for a priority ends in the engine's own numbers, mapped and reduced, on random clusters."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from kschedweb.decisions.classic import arithmetic
from kschedweb.decisions.deciders import CLASSIC
from kschedweb.engine.releases.classic import ClassicScheduler, ClassicSnapshot, Edition, Registry, load_policy
from kschedweb.web.errors import Unprocessable
from tests.conformance.making.classic import PRIORITIES, ClassicMaker
from tests.engine.builders import node, pod

ZONE = "failure-domain.beta.kubernetes.io/zone"
GATES = frozenset({"ResourceLimitsPriorityFunction"})
PLAIN = {"PlainImageLocalityPriority", "PlainServiceAntiAffinity"}  # those of 1.9


def every_priority(maker: ClassicMaker, edition: Edition) -> dict[str, Any]:
    """A Policy of all priorities, those of arguments too, with weights of their own."""
    names = sorted({*PRIORITIES, "ResourceLimitsPriority"} & set(edition.priorities))
    arguments: dict[str, dict[str, Any]] = {
        "Ssd": {"labelPreference": {"label": "disk", "presence": maker.maybe(0.5)}},
        "Apart": {"serviceAntiAffinity": {"label": maker.pick([ZONE, "disk"])}},
        "Curve": {"requestedToCapacityRatioArguments": {"shape": maker.shape()}},
    }
    priorities = [{"name": name, "weight": maker.weight()} for name in names]
    priorities += [
        {"name": name, "weight": maker.weight(), "argument": argument} for name, argument in arguments.items()
    ]
    few = [{"name": name} for name in ("CheckNodeCondition", "PodFitsHostPorts")]
    return {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": few,
        "priorities": priorities,
        "hardPodAffinitySymmetricWeight": maker.pick([1, 40]),
    }


@pytest.mark.parametrize("edition", [Edition(gates=GATES), Edition("1.9", GATES)], ids=["1.13", "1.9"])
def test_the_steps_come_to_the_scores_of_the_engine(edition: Edition) -> None:
    maker = ClassicMaker(Random(3))
    checks_by_kind: Counter[type] = Counter()
    spread: dict[str, set[int]] = {}
    for number in range(30):
        scenario = maker.scenario(f"s{number}")
        loading = load_policy(every_priority(maker, edition))
        assert loading.policy is not None, loading.errors
        algorithm = Registry(edition).build_algorithm(loading.policy)
        snapshot = ClassicSnapshot.from_objects([*scenario["objects"], *scenario["pending"]])
        for waiting in snapshot.pending:
            try:
                decision = CLASSIC.present(CLASSIC.decide_pod(ClassicScheduler(snapshot, algorithm), waiting.key))
            except Unprocessable:
                continue
            for column in decision.explanation.scores:
                kind = type(arithmetic.plugin_of(algorithm.priorities, column.plugin))
                for index, position in enumerate(decision.explanation.feasible.tolist()):
                    explained = decision.compute_arithmetic(position, column.plugin)
                    context = f"{scenario['name']} {waiting.key} {column.plugin} {explained.node}"
                    assert (explained.computed, explained.reduced) == (column.raw[index], column.normalized[index]), (
                        context
                    )
                    results = [step.result for step in explained.steps[-4:-1]]
                    assert results == [
                        str(scores[index]) for scores in (column.raw, column.normalized, column.weighted)
                    ]
                    assert explained.steps[-1].result == f"{int(decision.explanation.total[index]):,}", context
                    checks_by_kind[kind] += 1
                    spread.setdefault(column.plugin, set()).add(int(explained.reduced or 0))
    plain = PLAIN if not edition.old else {name.removeprefix("Plain") for name in PLAIN}
    assert {kind.__name__ for kind in checks_by_kind} == {kind.__name__ for kind in arithmetic.SCORE_EXPLAINERS} - plain
    assert min(checks_by_kind.values()) > 50
    assert [name for name, distinct_scores in spread.items() if len(distinct_scores) < 2] == ["EqualPriority"]


def test_absurd_amounts_wrap_round_as_in_the_engine() -> None:
    huge = {"memory": "8Ei", "cpu": "9000000000000"}
    policy = {
        "kind": "Policy",
        "predicates": [{"name": "HostName"}],
        "priorities": [{"name": "LeastRequestedPriority", "weight": 1}, {"name": "MostRequestedPriority", "weight": 1}],
    }
    loading = load_policy(policy)
    assert loading.policy is not None
    snapshot = ClassicSnapshot.from_objects([node("a", allocatable=huge), node("b"), pod("p", requests={"cpu": "1"})])
    scheduler = ClassicScheduler(snapshot, Registry().build_algorithm(loading.policy))
    decision = CLASSIC.present(CLASSIC.decide_pod(scheduler, "default/p"))
    for column in decision.explanation.scores:
        for index, position in enumerate(decision.explanation.feasible.tolist()):
            assert decision.compute_arithmetic(position, column.plugin).computed == column.raw[index]


def test_a_rejected_node_and_an_unknown_priority_say_why_there_is_no_score() -> None:
    snapshot = ClassicSnapshot.from_objects([node("a"), node("b", unschedulable=True), pod("p")])
    decision = CLASSIC.present(
        CLASSIC.decide_pod(ClassicScheduler(snapshot, Registry().build_algorithm()), "default/p")
    )
    assert "was rejected" in decision.compute_arithmetic(snapshot.index["b"], "LeastRequestedPriority").error
    unknown = decision.compute_arithmetic(snapshot.index["a"], "NoSuchPriority")
    assert unknown.error
    assert unknown.steps == []
