"""A scenario's document: what it may say, and where it is told to be wrong."""

from __future__ import annotations

import pytest

from kschedweb.engine.studies import ScenarioError, read_scenario
from kschedweb.engine.studies.document.parts import DrainNodes, Generate


def problems(**document: object) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        read_scenario({"name": "x", **document})
    return [str(problem) for problem in caught.value.problems]


def test_a_document_is_read_with_its_defaults() -> None:
    document = read_scenario({"name": "quiet"})
    assert (document.base.snapshot, document.run.place, document.run.end) == (None, "all", None)
    assert (document.run.cycle, document.run.sample, document.use.source) == (0.001, 60.0, "none")


def test_times_are_durations_or_seconds() -> None:
    change = {"drainNodes": {"nodes": ["a"]}}
    document = read_scenario({"name": "x", "changes": [{"at": "1h30m", **change}, {"at": 90, **change}, change]})
    assert [change.at for change in document.changes] == [5400.0, 90.0, 0.0]
    assert isinstance(document.changes[0].action, DrainNodes)


def test_every_problem_is_told_with_its_path() -> None:
    problem_texts = problems(
        changes=[
            {"drainNodes": {"zone": "a", "nodes": ["n"]}},
            {"addNodes": {"count": "3", "likes": "n"}},
            {},
            {"at": "soon", "addWorkload": {"manifest": {"kind": "Deployment", "metadata": {"name": "a"}}}},
            {"taintNodes": {"zone": "a", "taints": [{"key": "k", "effect": "Never"}]}},
        ],
        run={"until": "soon"},
        arrivals=[{"trace": {"file": "f", "format": "csv"}}],
    )
    paths = [text.split(": ")[0] for text in problem_texts]
    assert paths == [
        "changes[0].drainNodes",
        "changes[1].addNodes.likes",
        "changes[1].addNodes.count",
        "changes[1].addNodes",
        "changes[2]",
        "changes[3].at",
        "changes[3].addWorkload.manifest.spec.template.spec.containers",
        "changes[4].taintNodes.taints[0].effect",
        "arrivals[0].trace",
        "run.until",
    ]


def test_unknown_keys_are_told_with_those_that_are_known() -> None:
    known_keys = "admission, controllers, cycle, place, sample, until"
    assert problems(run={"til": 1}) == [f"run.til: is not known; known are {known_keys}"]


def test_what_is_no_object_is_told() -> None:
    with pytest.raises(ScenarioError, match="must be an object, is a list"):
        read_scenario([])


def test_a_generator_has_its_defaults() -> None:
    document = read_scenario(
        {"name": "x", "arrivals": [{"generate": {"perHour": 60, "shapes": [{"cpu": 1}], "tide": {}}}]}
    )
    (part,) = document.arrivals
    assert isinstance(part, Generate)
    assert part.tide is not None
    assert (part.tide.low, part.tide.peak, part.shapes[0].cpu) == (0.3, 14 * 3600.0, "1")
