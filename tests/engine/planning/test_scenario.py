"""The form of the command line: a plan for a scenario a line, and one line that says where for what is wrong."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.json_types import Json
from tests.engine.builders import node
from tests.engine.planning.building import GPU, budget, pod

PRICES = {
    "apiVersion": "kschedweb/v1",
    "kind": "PriceTable",
    "currency": "EUR",
    "prices": [{"labels": {"kubernetes.io/hostname": "b"}, "price": 0.5}],
}


def scenario(objective: Any, **more: Any) -> Json:
    objects = [
        node("a"),
        node("b"),
        pod("p0", "a"),
        pod("p1", "a"),
        pod("p2", "b", kind="StatefulSet"),
        budget("web", 1),
    ]
    use = {"pods": {f"default/p{number}": {"cpu": cores} for number, cores in enumerate((1.0, 1.4, 0.2))}}
    return {"name": "small", "objects": objects, "watermarks": use, "objective": objective, **more}


def run_command(lines: list[Json], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(json.dumps, lines))))
    return main(["plan"])


def test_the_command_line_answers_a_line_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [scenario({"skew": {"atMost": 20}}), scenario({"nodes": {}}), scenario({"money": {}}, prices=PRICES)]
    assert run_command(lines, monkeypatch) == 0
    skew, nodes, money = map(json.loads, capsys.readouterr().out.splitlines())
    assert (skew["objective"], skew["unit"], skew["before"], skew["after"]) == ("skew", "points", 55.0, 5.0)
    ((move,),) = skew["waves"]
    assert move["pod"] == "default/p0"
    assert move["budget"] == "default/web"
    assert skew["bound"] == {"moves": 1, "value": None}
    assert skew["stopped"]["kind"] == "reached"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p0", "namespace": "default"}}
    assert skew["evictions"] == [{"wave": 1, **eviction}]
    comment, line = skew["kubectl"]
    assert comment == "# wave 1 of 1"
    body, _, path = line.removeprefix("echo '").partition("' | kubectl create --raw ")
    assert json.loads(body) == eviction
    assert path == "/api/v1/namespaces/default/pods/p0/eviction -f -"

    assert nodes["cordons"] == ["b"]
    assert nodes["kubectl"][0] == "kubectl cordon b"
    assert [eviction["metadata"]["name"] for eviction in nodes["evictions"]] == ["p2"]
    assert (money["unit"], money["before"], money["after"]) == ("EUR in 24 h", 12.0, 0.0)


@pytest.mark.parametrize(
    ("changes", "expected_error"),
    [
        ({"objective": None}, "objective: must have exactly one of skew, nodes, money, fragmentation; has none"),
        ({"objective": {"skew": {"atMost": 1}, "nodes": {}}}, "has skew and nodes"),
        ({"objective": {"skew": {"atMost": -1}}}, "objective.skew.atMost: must be at least 0, is -1"),
        ({"objective": {"skew": {"atMost": 1, "resource": "gpu"}}}, "objective.skew: resource: must be cpu or memory"),
        ({"objective": {"nodes": {"atLeast": 0}}}, "objective.nodes.atLeast: must be at least 1"),
        ({"objective": {"nodes": {}, "price": -1}}, "objective.price: must be at least 0"),
        ({"objective": {"nodes": {}, "mostMoves": 1.5}}, "objective.mostMoves: must be a whole number"),
        ({"objective": {"money": {}}}, 'prices: is missing: give a table of prices, or ask for "nodes"'),
        ({"objective": {"money": {}}, "prices": {**PRICES, "prices": [{"price": 1}]}}, "prices.prices[0]: must say"),
        ({"objective": {"fragmentation": {"resource": GPU, "size": 2}}}, f"no node has {GPU}"),
        ({"objective": {"skew": {"atMost": 1}}, "watermarks": None}, "nothing is known of real use"),
        ({"objects": [pod("p0", "")]}, "default/p0"),
        ({"config": {"kind": "Nothing"}}, "config: "),
    ],
)
def test_bad_input_ends_with_one_line_that_says_where(
    changes: Json, expected_error: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([scenario({"nodes": {}}), {**scenario({"nodes": {}}), **changes}], monkeypatch) == 2
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 1, "the scenario before it is answered"
    assert expected_error in output.err
    assert output.err.startswith("kschedweb.engine: line 2: ")
    assert len(output.err.splitlines()) == 1
