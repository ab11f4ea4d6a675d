"""The search for weights: deterministic, resumable, and better than where it begins."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.experiment.policies import HHE, load_configuration
from kschedweb.engine.experiment.search import GENES, create_document, search_weights
from kschedweb.engine.json_types import Json


def cost(candidate: Json) -> float:
    """Least where much of the weight is on one hour and the plugin weighs 7."""
    profile = candidate["profiles"][0]
    args = profile["pluginConfig"][0]["args"]
    weight = next(entry["weight"] for entry in profile["plugins"]["multiPoint"]["enabled"] if entry["name"] == HHE)
    return abs(weight - 7.0) + sum(args["windowWeights"].values()) - 2.0 * args["windowWeights"].get("1h", 0.0)


def evaluate(candidates: Sequence[Json]) -> list[float]:
    return [cost(candidate) for candidate in candidates]


def test_the_search_is_deterministic_and_finds_something_better() -> None:
    first, repeated = (search_weights(evaluate, seed=3, generations=10) for _ in range(2))
    assert first == repeated
    begin = next(trial for trial in first if trial.generation == 0 and trial.genes["weight"] == 1)
    assert first[0].cost < begin.cost - 5.0
    assert [trial.cost for trial in first] == sorted(trial.cost for trial in first)


def test_a_search_goes_on_where_it_was_stopped() -> None:
    asked_documents: list[Json] = []

    def remember(candidates: Sequence[Json]) -> list[float]:
        asked_documents.extend(candidates)
        return evaluate(candidates)

    whole = search_weights(remember, seed=5, generations=4)
    known_costs = [(candidate, cost(candidate)) for candidate in asked_documents[:20]]
    count = len(asked_documents)
    asked_documents.clear()
    assert search_weights(remember, seed=5, generations=4, known_costs=known_costs) == whole
    assert len(asked_documents) == count - 20


@given(st.fixed_dictionaries({gene.name: st.floats(gene.lowest, gene.highest).map(gene.round_value) for gene in GENES}))
def test_every_candidate_is_a_policy_that_can_be_run(genes: dict[str, float]) -> None:
    assert load_configuration(create_document(genes)).profiles
