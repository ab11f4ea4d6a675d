"""docs/classic.md: its code runs, and its tables hold what the engine has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kschedweb.clusters import demo
from kschedweb.engine.config.notes import NONE
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import Registry
from kschedweb.engine.releases.classic.catalogue import GATES, ORDER, Edition
from kschedweb.engine.releases.classic.comparison import MoveVerdict
from kschedweb.engine.releases.classic.counterparts import (
    PREDICATES,
    PRIORITIES,
    Counterpart,
    find_argument_counterpart,
)
from tests.conftest import ROOT
from tests.engine.releases.classic.test_policy import ARTICLE

TEXT = (ROOT / "docs" / "classic.md").read_text(encoding="utf-8")
CODE, SIMULATING, COMPARING = re.findall(r"```python\n(.*?)\n```", TEXT, re.DOTALL)
OF_PREDICATES, OF_PRIORITIES, OF_CONVERSION = (
    TEXT.partition(f"## {name}\n")[2].partition("\n## ")[0] for name in ("Predicates", "Priorities", "Conversion")
)
ARGUMENTS: dict[str, dict[str, Any]] = {
    "labelsPresence": {},
    "serviceAffinity": {},
    "labelPreference": {},
    "serviceAntiAffinity": {"label": "rack"},
}


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cluster.json").write_text(json.dumps({"items": demo.generate_cluster()}))
    (tmp_path / "old-policy.json").write_text(ARTICLE)
    monkeypatch.chdir(tmp_path)
    exec(compile(CODE, "docs/classic.md", "exec"), {"__name__": "__main__"})
    assert "'chosen'" in capsys.readouterr().out


def test_the_simulation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old-policy.json").write_text(ARTICLE)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__", "objects": demo.generate_cluster(), "Path": Path}
    exec(compile(SIMULATING, "docs/classic.md", "exec"), namespace)
    assert len(namespace["result"].bound) > 0
    assert len(namespace["snapshot"]) == namespace["result"].samples[0].nodes


def test_the_comparison_runs(capsys: pytest.CaptureFixture[str]) -> None:
    configuration = load("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration").configuration
    names = {
        "objects": demo.generate_cluster(),
        "algorithm": Registry().build_algorithm(),
        "configuration": configuration,
    }
    exec(compile(COMPARING, "docs/classic.md", "exec"), {"__name__": "__main__", **names})
    assert "'verdicts': {'same': " in capsys.readouterr().out


def test_verdicts_of_a_comparison_are_listed() -> None:
    section = TEXT.partition("## Comparison\n")[2].partition("\n## ")[0]
    assert {name.strip(" `") for name in rows(section)[1:]} >= set(MoveVerdict)


def rows(section: str) -> list[str]:
    return [name for line in section.splitlines() if line.startswith("| ") for name in line.split("|")[1].split(",")]


def test_predicates_are_listed_in_their_order() -> None:
    listed_names = [name.strip() for name in rows(OF_PREDICATES)[1:]]
    sharing_a_row = {"MaxCinderVolumeCount", "MaxAzureDiskVolumeCount"}  # told in one row with others
    assert [name for name in listed_names if name not in sharing_a_row] == [
        name for name in ORDER if name not in sharing_a_row
    ]
    assert set(listed_names) == set(ORDER)


def test_priorities_are_listed_with_their_weights() -> None:
    edition = Edition(gates=GATES)
    listed_names = {name.strip() for name in rows(OF_PRIORITIES)[1:]}
    assert set(edition.priorities) <= listed_names
    for name, weight in Edition().default_priorities.items():
        assert f"| {name} | {weight:,} |" in OF_PRIORITIES


def test_switches_are_listed() -> None:
    assert all(f"`{gate}`" in TEXT for gate in GATES)


def counterpart_rows() -> list[str]:
    """The table of conversion as the engine has it; rules that nothing tells apart share a row."""
    argument_rows = [(f"by `{kind}`", find_argument_counterpart(kind, content)) for kind, content in ARGUMENTS.items()]
    names_by_counterpart: dict[Counterpart, list[str]] = {}
    for name, counterpart in [*PREDICATES.items(), *argument_rows[:2], *PRIORITIES.items(), *argument_rows[2:]]:
        names_by_counterpart.setdefault(counterpart, []).append(name)
    return [
        f"| {', '.join(names)} | {', '.join(counterpart.plugins)} | {counterpart.kind} | {counterpart.text} |"
        for counterpart, names in names_by_counterpart.items()
    ]


def test_counterparts_are_those_of_the_engine() -> None:
    table_lines = [line for line in OF_CONVERSION.splitlines() if line.startswith("| ")]
    assert table_lines[1:] == counterpart_rows()
    assert sum(f"| {NONE} |" in line for line in table_lines) == 4
