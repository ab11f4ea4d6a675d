"""A space of policies: which fields vary over which values, and the document of each point."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.config import EMPTY, Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import Patience, WorkAbandoned, limit_by
from kschedweb.engine.releases import load
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.search import fields
from kschedweb.engine.studies.search.space import Dimension, Space, read_space

FIT = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
STRATEGY = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.type"
CPU = "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy.resources[cpu].weight"
NONSENSE = "profiles[0].pluginConfig[NodeResourcesFit].args.nonsense"
HARD = "profiles[0].pluginConfig[InterPodAffinity].args.hardPodAffinityWeight"


def space(*dimensions: dict[str, Any], base: dict[str, Any] | None = None) -> Space:
    return read_space(list(dimensions), {**EMPTY, **(base or {})})


def configured(search_space: Space, *point: Any) -> Configuration:
    loaded = load(search_space.document_at(point))
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def weights(configuration: Configuration) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in configuration.profiles[0].points["score"]}


def problems(*dimensions: Any, base: dict[str, Any] | None = None) -> dict[str, str]:
    with pytest.raises(ScenarioError) as refused:
        read_space(list(dimensions), {**EMPTY, **(base or {})})
    return {problem.path: problem.text for problem in refused.value.problems}


def test_a_weight_is_set_and_all_others_stay() -> None:
    search_space = space({"path": FIT, "from": 1, "to": 5})
    before = weights(search_space.configuration)
    assert search_space.base_point == (1,)
    assert weights(configured(search_space, 4)) == {**before, "NodeResourcesFit": 4}


def test_trying_values_stops_once_nobody_waits() -> None:
    """Each value loads the whole policy: of one with 9,000 resources a page for a new sweep took 78 s."""
    waits = Patience()
    waits.abandon()
    with limit_by(waits), pytest.raises(WorkAbandoned):
        space({"path": FIT, "from": 1, "to": 5})


def test_a_weight_of_zero_takes_the_score_out_and_leaves_the_filter() -> None:
    search_space = space({"path": FIT, "from": 0, "to": 5})
    configuration = configured(search_space, 0)
    assert "NodeResourcesFit" not in weights(configuration)
    assert "NodeResourcesFit" in {plugin.name for plugin in configuration.profiles[0].points["filter"]}


def test_a_plugin_that_does_not_score_has_weight_zero_and_can_be_weighed() -> None:
    off = {"profiles": [{"plugins": {"score": {"disabled": [{"name": "NodeResourcesFit"}]}}}]}
    search_space = space({"path": FIT, "from": 0, "to": 5}, base=off)
    assert search_space.base_point == (0,)
    assert weights(configured(search_space, 3))["NodeResourcesFit"] == 3
    assert search_space.document_at((0,)) == {**EMPTY, **off}


def test_an_argument_is_set_and_its_neighbours_keep_their_defaults() -> None:
    search_space = space({"path": CPU, "from": 1, "to": 10})
    args = configured(search_space, 7).profiles[0].args["NodeResourcesFit"]
    assert args["scoringStrategy"]["resources"] == [{"name": "cpu", "weight": 7}, {"name": "memory", "weight": 1}]
    assert args["scoringStrategy"]["type"] == "LeastAllocated"


def test_the_base_s_own_words_stay_and_its_document_is_not_touched() -> None:
    base: Json = {"percentageOfNodesToScore": 50, "profiles": [{"schedulerName": "mine", "pluginConfig": [
        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 9}}]}]}  # fmt: skip
    search_space = space({"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}, base=base)
    document = search_space.document_at(("MostAllocated",))
    assert document["percentageOfNodesToScore"] == 50
    assert document["profiles"][0]["pluginConfig"][0] == base["profiles"][0]["pluginConfig"][0]
    assert len(base["profiles"][0]["pluginConfig"]) == 1
    assert search_space.document_at(("LeastAllocated",)) == {**EMPTY, **base}


def test_a_grid_is_every_combination_the_last_varying_fastest() -> None:
    search_space = space(
        {"path": FIT, "from": 1, "to": 3}, {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}
    )
    points = list(search_space.iterate_grid())
    assert search_space.size == len(points) == 6
    assert points[:3] == [(1, "LeastAllocated"), (1, "MostAllocated"), (2, "LeastAllocated")]


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ({"from": 1, "to": 4}, (1, 2, 3, 4)),
        ({"from": 0, "to": 10, "step": 4}, (0, 4, 8)),
        ({"from": 0, "to": 1, "step": 0.25}, (0, 0.25, 0.5, 0.75, 1)),
        ({"from": 0.5, "to": 1.5}, (0.5, 0.75, 1, 1.25, 1.5)),
        ({"from": 1, "to": 20, "log": True}, (1, 2, 4, 8, 16, 20)),
        ({"from": 0.01, "to": 1.0, "log": True, "count": 3}, (0.01, 0.1, 1.0)),
        ({"from": 1, "to": 100, "count": 4}, (1, 34, 67, 100)),
    ],
)
def test_values_of_a_grid(raw: dict[str, Any], values: tuple[float, ...]) -> None:
    dimension = Dimension(
        "x", low=raw["from"], high=raw["to"], step=raw.get("step"), log=raw.get("log", False), count=raw.get("count", 0)
    )
    assert dimension.values() == pytest.approx(values)
    assert dimension.size == len(values)


@given(st.integers(-50, 50), st.integers(1, 60), st.integers(1, 9))
def test_values_of_whole_numbers_are_whole_in_order_and_within_the_ends(low: int, width: int, step: int) -> None:
    dimension = Dimension("x", low=low, high=low + width, step=min(step, width))
    values = dimension.values()
    assert all(isinstance(value, int) and dimension.can_hold(value) for value in values)
    assert list(values) == sorted(set(values))
    assert values[0] == low
    assert len(values) == dimension.size


def test_points_that_differ_in_one_dimension_take_turns() -> None:
    search_space = space({"path": FIT, "from": 1, "to": 9}, {"path": HARD, "from": 0, "to": 2})
    assert search_space.base_point == (1, 1)
    assert search_space.vary_one_dimension(3) == [(5, 1), (1, 0), (9, 1), (1, 2)]


def test_what_was_read_is_read_again_from_plain_data() -> None:
    raw: list[dict[str, Any]] = [
        {"path": FIT, "from": 1, "to": 8, "log": True, "count": 3},
        {"path": HARD, "from": 0, "to": 100, "step": 5},
        {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]},
    ]
    assert [dimension.to_dict() for dimension in space(*raw).dimensions] == raw


def test_labels_name_the_plugin_and_what_of_it() -> None:
    labels = [
        dimension.label
        for dimension in space({"path": FIT, "from": 1, "to": 2}, {"path": HARD, "from": 0, "to": 1}).dimensions
    ]
    assert labels == ["NodeResourcesFit weight", "InterPodAffinity hardPodAffinityWeight"]


@pytest.mark.parametrize(
    ("raw", "path", "expected_error"),
    [
        ({}, "space[0]", "must be an object with a path"),
        ("x", "space[0]", "must be an object with a path"),
        ({"path": "a..b", "from": 1, "to": 2}, "space[0].path", "must be keys with dots"),
        ({"path": FIT, "from": 1}, "space[0].to", "is missing"),
        ({"path": FIT, "from": "1", "to": 2}, "space[0].from", "must be a number"),
        ({"path": FIT, "from": True, "to": 2}, "space[0].from", "must be a number"),
        ({"path": FIT, "from": 1, "to": float("inf")}, "space[0].to", "must be a number"),
        ({"path": FIT, "from": 3, "to": 3}, "space[0].to", "must be above from (3)"),
        ({"path": FIT, "from": 1, "to": 3, "step": 0}, "space[0].step", "above 0"),
        ({"path": FIT, "from": 0, "to": 3, "log": True}, "space[0].from", "above 0 where log"),
        ({"path": FIT, "from": 1, "to": 3, "log": True, "step": 1}, "space[0].step", "cannot stand beside log"),
        ({"path": FIT, "from": 1, "to": 3, "count": 1}, "space[0].count", "from 2 to 100"),
        ({"path": FIT, "from": 1, "to": 3, "by": 1}, "space[0].by", "is unknown"),
        ({"path": FIT, "values": [1, 2], "from": 1}, "space[0].from", "cannot stand beside values"),
        ({"path": FIT, "values": [1]}, "space[0].values", "list of 2 to 100"),
        ({"path": FIT, "values": [1, 1]}, "space[0].values", "holds a value twice"),
        ({"path": STRATEGY, "values": ["a", "b\0"]}, "space[0].values", "cannot be printed"),
        ({"path": "a[b\0]", "from": 1, "to": 2}, "space[0].path", "must be keys with dots"),
        ({"path": FIT, "values": [1, {}]}, "space[0].values", "must be numbers, strings or booleans"),
        ({"path": FIT, "from": -1, "to": 2}, "space[0].from", "NodeResourcesFit weight -1: "),
        ({"path": HARD, "from": 0, "to": 101}, "space[0].to", "not in valid range"),
        ({"path": STRATEGY, "values": ["LeastAllocated", "Most"]}, "space[0].values", "Unsupported value"),
        ({"path": NONSENSE, "from": 0, "to": 1}, "space[0].from", "nonsense"),
        ({"path": "profiles[3].schedulerName", "values": ["a", "b"]}, "space[0].path", "beyond the end"),
        ({"path": "profiles[0].pluginConfig", "values": ["a", "b"]}, "space[0].path", "is not one value"),
        ({"path": "parallelism.x", "from": 1, "to": 2}, "space[0].from", "parallelism"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(raw: Any, path: str, expected_error: str) -> None:
    problems_by_path = problems(raw)
    assert expected_error in problems_by_path[path]


def test_a_space_needs_dimensions_and_each_once() -> None:
    assert "1 to 12" in problems()["space"]
    twice = {"path": FIT, "from": 1, "to": 2}
    assert "is there twice" in problems(twice, twice)["space[1].path"]


def test_a_base_that_is_not_valid_is_said_to_be_so() -> None:
    assert "the policy itself is not valid" in problems({"path": FIT, "from": 1, "to": 2}, base={"parallelism": -1})[""]


@pytest.mark.parametrize("path", ["", ".", "[0]", "a.", "a[", "a[]", "a b", "a]b"])
def test_paths_that_are_none(path: str) -> None:
    with pytest.raises(fields.PathError):
        fields.parse_path(path)


def test_names_in_brackets_may_hold_dots_and_slashes() -> None:
    assert fields.parse_path("a[nvidia.com/gpu].weight") == ("a", "nvidia.com/gpu", "weight")
