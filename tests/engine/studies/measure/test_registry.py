"""Every measure is declared once, and everything that is known of it follows from that."""

from __future__ import annotations

from collections import Counter

import pytest

from kschedweb.engine.studies.measure import conditions
from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.groups import GROUPS
from kschedweb.engine.studies.measure.objectives import list_objectives
from kschedweb.engine.studies.measure.registry import (
    FAMILIES,
    MEASURES,
    family_of,
    find_spec,
    group_of,
    lead_of,
    rank_of,
    specs_of,
)

MEMBERS = {"resource": ["cpu", "memory", "nvidia.com/gpu"], "queue": ["team-a"], "priority": ["10"]}
SPECS = list(specs_of(MEMBERS))
NAMES = [spec.name for spec in SPECS]


def test_names_and_labels_are_told_apart_and_every_name_leads_back_to_its_measure() -> None:
    for texts in (NAMES, [spec.label for spec in SPECS]):
        assert [text for text, number in Counter(texts).items() if number > 1] == []
    assert [find_spec(name) for name in NAMES] == SPECS
    assert find_spec("use_skew_nvidia.com/gpu") is None, "real use is known of CPU and memory alone"
    assert all(spec.sentence.endswith(".") and spec.unit for spec in SPECS)


def test_every_group_and_family_has_measures_and_the_most_important_group_comes_first() -> None:
    assert [group.name for group in GROUPS] == ["run", "disruption", "balance", "cost", "speed"]
    assert {group_of(name) for name in NAMES} == set(GROUPS)
    assert {family_of(name) for name in NAMES} == set(FAMILIES)
    assert [rank_of(name) for name in NAMES] == sorted(rank_of(name) for name in NAMES)
    assert group_of("scalings") == group_of("replicas_mean"), "the chart of scaled workloads shows both"


def test_what_leads_is_a_measure_of_the_same_group_that_leads_itself() -> None:
    for name in NAMES:
        assert lead_of(name) in NAMES
        assert lead_of(lead_of(name)) == lead_of(name)
        assert group_of(lead_of(name)) == group_of(name)
    below = [name for name in NAMES if lead_of(name) == "skew_nvidia.com/gpu"]
    assert sorted(below) == [f"{kind}_nvidia.com/gpu{end}" for kind in ("skew", "spread") for end in ("", "_end")]


def test_every_measure_of_a_run_has_its_function_and_is_an_objective() -> None:
    objectives = {spec.name for spec in list_objectives(MEMBERS)}
    for spec in SPECS:
        in_runs = spec.when not in (conditions.PLACED_ANEW, conditions.COMPARED)
        assert (spec.compute is not None) == in_runs, spec.name
        assert (spec.name in objectives) == (spec.when is not conditions.PLACED_ANEW), spec.name
    computed = {spec.compute for spec in MEASURES}
    helpers = {"open_levels"}
    public = {name for name, value in vars(RunFigures).items() if callable(value) and not name.startswith("_")}
    assert {getattr(RunFigures, name) for name in public - helpers} <= computed, "a function that no measure has"


@pytest.mark.parametrize(
    "name",
    ["evictions_descheduler", "evictions_again", "evictions_rate", "node_cost", "node_hours_unpriced",
     "nodes_launched", "nodes_removed"],
)  # fmt: skip
def test_what_deschedulers_and_autoscalers_do_can_be_an_objective(name: str) -> None:
    assert name in {spec.name for spec in list_objectives()}
