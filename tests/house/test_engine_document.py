"""docs/engine.md: its code runs, and its names exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kschedweb import engine
from kschedweb.clusters import demo
from kschedweb.engine import Explanation, Placement, Scheduler, Snapshot, config
from tests.conftest import ROOT
from tests.engine.builders import node, pod
from tests.support.seed_classic import POLICY

TEXT = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)\n```", TEXT, re.DOTALL)
PYTHON = [code for kind, code in BLOCKS if kind == "python"]
(SHELL,) = (code for kind, code in BLOCKS if kind == "sh")


@pytest.fixture
def example_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples read."""
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": demo.generate_cluster()}))
    (tmp_path / "policy.yaml").write_text(config.default_document())
    (tmp_path / "old-policy.json").write_text(json.dumps(POLICY))
    scenario = {"name": "x", "objects": [node("a")], "pending": [pod("p"), pod("q")]}
    (tmp_path / "scenarios.jsonl").write_text(json.dumps(scenario) + "\n")
    (tmp_path / "histories.jsonl").write_text(json.dumps({"name": "x", "containers": {"main": []}}) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_example(code: str) -> None:
    exec(compile(code, "docs/engine.md", "exec"), {"__name__": "__main__"})


def test_the_library_is_used_in_twenty_lines(example_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = PYTHON[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 20
    run_example(example)
    output_lines = capsys.readouterr().out.splitlines()
    pending = Snapshot.from_objects(demo.generate_cluster()).pending
    assert len(output_lines) == 2 * len(pending) > 30
    assert any("nodes are available" in line for line in output_lines)
    assert any(line.startswith("ml/notebook -> ") for line in output_lines)


def test_the_simulation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(PYTHON[1])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("0.0 s: default/first on one after 0.0 s and 1 tries")
    assert second.startswith("60.0 s: default/second on one after 50.0 s")


def test_the_live_loop_binds(capsys: pytest.CaptureFixture[str]) -> None:
    run_example(f"{PYTHON[1]}\n{PYTHON[2]}")
    assert "default/first -> one, margin None" in capsys.readouterr().out


def test_watermarks_are_given_to_a_snapshot(example_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_example(f"{PYTHON[0]}\n{PYTHON[3]}")
    assert "\n[28. nan nan" in capsys.readouterr().out


def test_the_plugin_shown_is_the_one_that_is_installed_in_tests() -> None:
    for name, code in re.findall(r"<!-- (\S+) -->\n```\w+\n(.*?)\n```", TEXT, re.DOTALL):
        assert (ROOT / name).read_text(encoding="utf-8").rstrip() == code
    assert TEXT.count("<!-- tests/") == 2


def test_every_command_shown_answers(example_folder: Path) -> None:
    for line in SHELL.splitlines():
        command, _, input_name = line.partition("#")[0].partition("<")
        words = [sys.executable, *shlex.split(command)[1:]]
        text = (example_folder / input_name.strip()).read_text()
        process = subprocess.run(words, input=text, capture_output=True, text=True, cwd=ROOT, timeout=60)
        assert (process.returncode, process.stderr) == (0, ""), line
        assert json.loads(process.stdout)


def test_every_name_in_the_tables_exists() -> None:
    snapshot = Snapshot.from_objects([node("a")])
    cases = {"snapshot": snapshot, "Snapshot": Snapshot, "scheduler": Scheduler}
    for owner, first, other_names in re.findall(
        r"^\| `(snapshot|Snapshot|scheduler)\.(\w+)[^|`]*`([^|]*)\|", TEXT, re.MULTILINE
    ):
        for name in [first, *re.findall(r"`\.(\w+)", other_names)]:
            assert hasattr(cases[owner], name), name
    for name in ("Node", "ObjectError", "Placement", "Pod", "Scheduler", "Snapshot", "Explanation"):
        assert name in engine.__all__
        assert f"`{name}" in TEXT
    explanation_table = TEXT.partition("\nAn `Explanation`:\n")[2].partition("A `Placement`")[0]
    for cell in re.findall(r"^\| (`[^|]*`) \|", explanation_table, re.MULTILINE):
        for name in re.findall(r"`(\w+)", cell):
            assert hasattr(Explanation("p", "s", []), name), name
    for name in re.findall(r"`(\w+)`", TEXT.partition("A `Placement` has")[2].partition("\n")[0]):
        assert hasattr(Placement("p"), name), name
