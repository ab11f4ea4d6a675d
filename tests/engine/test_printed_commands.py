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

pytestmark = pytest.mark.parametrize("printed", PRINTED, ids=lambda printed: printed.name)


def run_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, *arguments: str) -> Any:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


def test_validate(printed: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer = run_command(monkeypatch, capsys, printed.text, "validate")
    assert not answer["valid"]  # today's kube-scheduler does not take it: what it becomes is an offer
    assert load(answer["converted"]["document"]).defaulted == load(of_today(printed)).defaulted
    assert answer["converted"]["version"] == printed.document["apiVersion"]


def test_convert(printed: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answer = run_command(monkeypatch, capsys, printed.text, "convert")
    assert load(answer["document"]).defaulted == load(of_today(printed)).defaulted
    assert answer["notes"]
    assert answer["summary"].startswith(f"{printed.document['apiVersion']} became v1")


def test_gate(
    printed: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "old.yaml").write_text(printed.text)
    (tmp_path / "new.json").write_text(of_today(printed))
    objects = {"kind": "List", "apiVersion": "v1", "items": [node("n1"), node("n2"), pod("p")]}
    (tmp_path / "cluster.json").write_text(json.dumps(objects))
    files = ("--policy", str(tmp_path / "old.yaml"), "--baseline", str(tmp_path / "new.json"))
    answer = run_command(monkeypatch, capsys, "", "gate", *files, "--snapshot", str(tmp_path / "cluster.json"))
    assert answer["verdict"] == "pass"


def test_explain(printed: Printed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for config in (printed.document, json.loads(of_today(printed))):
        scenario = {"name": "s", "config": config, "objects": [node("n1"), node("n2")], "pending": [pod("p")]}
        answers.append(run_command(monkeypatch, capsys, json.dumps(scenario), "explain"))
    assert answers[0] == answers[1]
