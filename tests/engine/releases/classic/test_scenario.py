"""Classic scenarios from JSON, and the command line that takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.scenario.classic import ClassicScenario
from kschedweb.engine.scenario.reading import ScenarioError
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import POLICY

BASE = {"name": "x", "classic": True, "objects": [node("a"), node("b")], "pending": [pod("p"), pod("q")]}


def scenario(**fields: Any) -> ClassicScenario:
    return ClassicScenario.from_json({**BASE, **fields}, {})


@pytest.mark.parametrize(
    ("fields", "expected_error"),
    [
        ({"classic": "yes"}, "x: classic: must be true or an object"),
        ({"classic": {"version": "1.8"}}, 'x: classic.version: must be "1.13" or "1.9", is "1.8"'),
        ({"classic": {"gates": ["Nope"]}}, "x: classic.gates: Nope is not known"),
        ({"classic": {"gates": "x"}}, "x: classic.gates: must be a list"),
        ({"classic": {"maxVolumes": -1}}, "x: classic.maxVolumes: must not be negative"),
        ({"classic": {"percentageOfNodesToScore": 101}}, "x: classic.percentageOfNodesToScore: must be from 0 to 100"),
        (
            {"policy": {**POLICY, "priorities": [{"name": "N"}]}},
            "x: policy: priorities[0].weight: Priority N should have",
        ),
        ({"policy": {**POLICY, "predicates": [{"name": "N"}]}}, "x: policy: predicates[0].name: Invalid configuration"),
        ({"policy": "kind: ["}, "x: policy: "),
        ({"pending": [node("a")]}, "x: pending[0]: must be a Pod"),
        ({"objects": [pod("b")]}, "x: objects: Pod default/b: has no nodeName"),
        ({"mode": "all"}, "x: mode: must be"),
        ({"preempt": 1}, "x: preempt: must be true or false"),
    ],
)
def test_bad_input_names_its_place(fields: dict, expected_error: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(**fields)
    assert str(caught.value).startswith(expected_error)


def test_in_a_sequence_each_pod_sees_those_before_it() -> None:
    wanting = [pod(name, requests={"cpu": "3"}) for name in "pq"]
    chosen = {
        mode: [pod_answer["chosen"] for pod_answer in scenario(pending=wanting, mode=mode).explain()["pods"]]
        for mode in ("each", "sequence")
    }
    assert chosen == {"each": ["a", "a"], "sequence": ["a", "b"]}


def test_pods_that_have_ended_are_not_there() -> None:
    ended = pod("b", on="a", requests={"cpu": "4"})
    ended["status"] = {"phase": "Succeeded"}
    answer = scenario(objects=[node("a"), ended], pending=[pod("p", requests={"cpu": "4"})]).explain()
    assert answer["pods"][0]["feasible"] == ["a"]


def test_the_summary_counts_what_was_placed() -> None:
    ticks = iter(range(100))
    summary = scenario(pending=[pod("p"), pod("q", requests={"cpu": "9"})]).summary(lambda: float(next(ticks)))
    assert (summary["Pods"], summary["Scheduled"], summary["Failed"]) == (2, 1, 1)


def test_a_summary_never_leaves_extenders_out() -> None:
    policy = {**POLICY, "extenders": [{"urlPrefix": "http://e", "filterVerb": "f"}]}
    with pytest.raises(ScenarioError, match="extender http://e would be asked"):
        scenario(policy=policy).summary(lambda: 0.0)


def test_what_a_policy_says_in_vain_is_remarked() -> None:
    policy = {**POLICY, "predicate": [{"name": "PodFitsPorts"}]}
    remarks = scenario(policy=policy).remarks
    assert remarks == (
        'x: policy.predicate: is read as "predicates"; kube-scheduler does not know the field and would take its '
        "defaults",
        "x: policy: PodFitsPorts is never asked: it has no place in the order",
    )


@pytest.mark.parametrize(("options", "last"), [((), 1), (("--one-process",), 7)])
def test_the_command_line_goes_on_as_one_process_of_the_original_would_where_it_is_asked_to(
    options: tuple[str, ...], last: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weighed = {**BASE, "policy": {**POLICY, "priorities": [{"name": "LeastRequestedPriority", "weight": 7}]}}
    lines = [json.dumps(document) + "\n" for document in (BASE, weighed, BASE)]
    monkeypatch.setattr("sys.stdin", lines)
    assert main(["explain", *options]) == 0
    out, err = capsys.readouterr()
    weights = [
        json.loads(line)["pods"][0]["priorities"]["LeastRequestedPriority"]["weight"] for line in out.splitlines()
    ]
    assert weights == [1, 7, last]
    assert ("line 3: x: policy: LeastRequestedPriority weigh" in err) is bool(options)


def test_the_command_line_schedules(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", [json.dumps(BASE)])
    assert main(["schedule"]) == 0
    (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert answer["placements"] == [
        {"pod": "default/p", "node": "a", "evaluated": 2, "feasible": 2},
        {"pod": "default/q", "node": "b", "evaluated": 2, "feasible": 2},
    ]
