"""The configurations that the articles print, by every command that takes a configuration."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.releases import load
from tests.engine.builders import node, pod
from tests.support.printed import PRINTED, Printed, of_today

pytestmark = pytest.mark.parametrize("one", PRINTED, ids=lambda one: one.name)


def ran(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, *arguments: str) -> Any:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


def test_validate(one: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told = ran(monkeypatch, capsys, one.text, "validate")
    assert not told["valid"]  # today's kube-scheduler does not take it: what it becomes is an offer
    assert load(told["converted"]["document"]).defaulted == load(of_today(one)).defaulted
    assert told["converted"]["version"] == one.document["apiVersion"]


def test_convert(one: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told = ran(monkeypatch, capsys, one.text, "convert")
    assert load(told["document"]).defaulted == load(of_today(one)).defaulted
    assert told["notes"]
    assert told["summary"].startswith(f"{one.document['apiVersion']} became v1")


def test_gate(
    one: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "old.yaml").write_text(one.text)
    (tmp_path / "new.json").write_text(of_today(one))
    objects = {"kind": "List", "apiVersion": "v1", "items": [node("n1"), node("n2"), pod("p")]}
    (tmp_path / "cluster.json").write_text(json.dumps(objects))
    files = ("--policy", str(tmp_path / "old.yaml"), "--baseline", str(tmp_path / "new.json"))
    told = ran(monkeypatch, capsys, "", "gate", *files, "--snapshot", str(tmp_path / "cluster.json"))
    assert told["verdict"] == "pass"


def test_explain(one: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for config in (one.document, json.loads(of_today(one))):
        scenario = {"name": "s", "config": config, "objects": [node("n1"), node("n2")], "pending": [pod("p")]}
        told.append(ran(monkeypatch, capsys, json.dumps(scenario), "explain"))
    assert told[0] == told[1]
