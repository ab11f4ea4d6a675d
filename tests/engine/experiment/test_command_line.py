"""The experiment's command line: JSON and CSV out, one line on stderr for what cannot be done."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from kschedweb.engine.experiment import UseRecording
from kschedweb.engine.experiment.__main__ import main
from kschedweb.engine.releases import CURRENT

SETUP = json.dumps({"nodes": 3, "deployments": 20, "used": 0.4, "since": 3600, "pace": 60})


@pytest.fixture
def day(tmp_path: Path) -> str:
    path = tmp_path / "day.csv.gz"
    path.write_bytes(
        gzip.compress("\n".join(UseRecording.generate(np.random.default_rng(2), 40, 24).to_csv_lines()).encode())
    )
    return str(path)


def test_policies_are_run_side_by_side(day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "skew.csv"
    arguments = ["run", day, "--seeds", "1", "2", "--setup", SETUP, "--csv", str(table), "--policies"]
    assert main([*arguments, "default", "water-level", "future"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer["policies"]) == ["default", "water-level", "future"]
    assert answer["engine"] == CURRENT.engine
    assert answer["policies"]["default"]["ofDefault"] == 1.0
    assert len(answer["runs"]) == 6
    assert len(table.read_text().splitlines()) == 1 + 6 * 24


def test_the_day_before_runs_first_and_is_not_measured(day: str, capsys: pytest.CaptureFixture[str]) -> None:
    setup = json.dumps({key: value for key, value in json.loads(SETUP).items() if key != "since"})
    arguments = ["run", day, "--seeds", "1", "--setup", setup, "--policies", "water-level", "tidal"]
    assert main([*arguments, "--before", day]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["setup"]["since"] == 2 * 3600  # as long as the day that was recorded
    assert [run["policy"] for run in answer["runs"]] == ["water-level", "tidal"]
    assert main([*arguments, "--before", "missing.csv"]) == 2
    assert "missing.csv: No such file" in capsys.readouterr().err


@pytest.mark.nightly
def test_moves_are_made_by_the_policies_but_not_by_those_they_are_compared_with(
    day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["run", day, "--seeds", "1", "--setup", SETUP, "--policies", "default", "water-level"]
    assert main([*arguments, "--moves-an-hour", "0", "10"]) == 0
    text = capsys.readouterr().out
    answer = json.loads(text)
    assert list(answer["policies"]) == ["default", "water-level", "water-level, 10 % moved an hour"]
    assert [run.get("movesAnHour") for run in answer["runs"]] == [None, 0.0, 10.0]
    assert answer["runs"][2]["moves"] > 0
    file = tmp_path / "moves-today.json"
    file.write_text(text)
    assert main(["curve", str(file)]) == 0
    figure = capsys.readouterr().out
    assert figure.startswith("<svg ")
    assert ">today</text>" in figure


def test_a_search_writes_a_journal_and_goes_on_from_it(
    day: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal.jsonl"
    arguments = ["search", day, "--seeds", "1", "--setup", SETUP, "--size", "4", "--journal", str(journal)]
    assert main([*arguments, "--generations", "1"]) == 0
    first = json.loads(capsys.readouterr().out)
    journal_text = journal.read_text()
    assert main([*arguments, "--generations", "1"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert journal.read_text() == journal_text
    assert first["best"]["document"]["profiles"]


@pytest.mark.parametrize(
    ("arguments", "expected_error"),
    [
        (["run", "missing.csv"], "missing.csv: No such file"),
        (["run", "DAY", "--setup", SETUP, "--policies", "best"], "--policies: best is not known"),
        (["run", "DAY", "--setup", '{"nodes": 0}'], "nodes: must be above 0"),
        (
            ["run", "DAY", "--setup", SETUP, "--policy", "mine=missing.yaml"],
            "--policy mine: missing.yaml: No such file",
        ),
        (["run", "DAY", "--setup", SETUP, "--moves-an-hour", "-1"], "--moves-an-hour: must be from 0 to 100"),
        (["curve", "missing.json"], "missing.json: No such file"),
        (["curve", "DAY"], "is not"),
        (["search", "DAY", "--setup", "[]"], "must be a JSON object"),
    ],
)
def test_bad_input_ends_with_status_2_and_a_reason(
    day: str, arguments: list[str], expected_error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([day if argument == "DAY" else argument for argument in arguments]) == 2
    output = capsys.readouterr()
    assert expected_error in output.err
    assert output.out == ""
    assert len(output.err.splitlines()) == 1
