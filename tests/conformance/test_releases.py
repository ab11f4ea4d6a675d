"""The recorded answers of four releases of kube-scheduler (../shared/conformance): the engine's are the same."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.releases import RELEASES, cli_validate
from tests.conformance.hunting import same
from tests.conformance.reference import engine_answer
from tests.support import tiers

Json = dict[str, Any]
EVERY = 1 if tiers.NIGHTLY else 6
"""Which part of the drawn scenarios a commit's tier asks; made ones are always asked."""
FILES = {"kube-scheduler": "explain", "sequences": "schedule", "probes-explain": "explain"}


def recorded(shared: Path, release: str, kind: str, every: int = EVERY) -> Iterator[Json]:
    """The recorded answers of one kind, one of ``every`` so many where they are many."""
    name = f"{kind}-{RELEASES[release].version}.jsonl.gz"
    folder = shared / "conformance"
    found = next((path for path in (folder / "releases" / name, folder / name) if path.exists()), None)
    if found is None:
        return
    with gzip.open(found, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if kind.startswith("probes") or number % every == 0:
                yield json.loads(line)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("release", RELEASES)
def test_scenarios_are_answered_as_the_release_did(shared: Path, release: str, kind: str) -> None:
    asked = 0
    for row in recorded(shared, release, kind):
        asked += 1
        answer = engine_answer(FILES[kind], {**row["scenario"], "release": release})
        if not same(row["scenario"], answer, row["expected"]):
            assert answer == row["expected"]
    assert asked >= 16


@pytest.mark.parametrize("kind", ["condition", "probes-condition"])
@pytest.mark.parametrize("release", RELEASES)
def test_the_command_condition_has_the_words_of_the_release(
    shared: Path, release: str, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(recorded(shared, release, kind, every=1))
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(row["scenario"]) + "\n" for row in rows)))
    assert main(["condition", "--release", release]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = [{**row["expected"], "engine": RELEASES[release].engine} for row in rows]
    assert answers == expected
    assert len(answers) >= 16


@pytest.mark.parametrize("release", RELEASES)
def test_configurations_are_read_as_the_release_reads_them(shared: Path, release: str) -> None:
    name = f"configurations-{RELEASES[release].version}.jsonl.gz"
    recordings = [shared / "conformance" / "releases" / name, shared / "conformance" / "configurations.jsonl.gz"]
    with gzip.open(next(path for path in recordings if path.exists()), "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows += recorded(shared, release, "probes-configurations")
    assert len(rows) >= 78
    for row in rows:
        answer, expected = cli_validate(row["config"], RELEASES[release]), row["expected"]
        assert answer["valid"] == expected["valid"], row["name"]
        assert answer.get("defaulted") == expected.get("defaulted"), row["name"]
        assert sorted(answer.get("errors", ())) == sorted(expected.get("errors") or ()), row["name"]
