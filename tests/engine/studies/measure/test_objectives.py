"""Objectives that a sweep can lower or raise are the measures of a run."""

from __future__ import annotations

from kschedweb.engine.releases import load
from kschedweb.engine.studies import prepare_scenario, read_scenario
from kschedweb.engine.studies.measure import conditions
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.objectives import last_nodes, list_objectives, measure_moved
from kschedweb.engine.studies.measure.registry import MOVED
from kschedweb.engine.studies.play.run import run_scenario
from tests.support.seed_runs import PACKED, document


def test_every_objective_is_a_measure_with_the_same_words_and_every_measure_an_objective() -> None:
    configuration = load(None).configuration
    assert configuration is not None
    priced = {**document(), "prices": {"currency": "EUR", "prices": []}}
    outcome = run_scenario(prepare_scenario(read_scenario(priced), [], {}, seed=1, now=0.0), configuration)
    measures = {measure.name: (measure.label, measure.direction) for measure in compute_measures(outcome)}
    listed = {
        objective.name: (objective.label, objective.direction)
        for objective in list_objectives({"resource": outcome.resources}, priced)
        if not objective.when.label or objective.when in (conditions.REQUESTED, conditions.COMPARED, conditions.PRICED)
    }
    assert listed.pop(MOVED) == ("Pods that go elsewhere", "lower")
    assert listed == measures


def test_pods_that_move_have_a_node_in_both_runs() -> None:
    assert (
        measure_moved({"a": "x", "b": "", "c": "x", "d": "x"}, {"a": "y", "b": "x", "c": "", "d": "x", "e": "x"}).value
        == 1.0
    )


def test_places_are_where_pods_were_last() -> None:
    nodes_by_run = []
    for text in (None, PACKED):
        configuration = load(text).configuration
        assert configuration is not None
        nodes_by_run.append(
            last_nodes(
                run_scenario(prepare_scenario(read_scenario(document()), [], {}, seed=1, now=0.0), configuration)
            )
        )
    assert set(nodes_by_run[0]) == set(nodes_by_run[1])
    assert all(node == "" or node.startswith("node-") for node in nodes_by_run[0].values())
    assert (measure_moved(*nodes_by_run).value or 0) > 0
