"""The recorded answers of kube-scheduler's releases (recorded/releases): the engine's are the same."""

from __future__ import annotations

import io
import json
import lzma
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from kschedweb.engine.__main__ import main
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES, cli_validate
from tests.conformance.hunting import same
from tests.conformance.reference import engine_answer
from tests.support import tiers

SAMPLING_STEP = 1 if tiers.NIGHTLY else 6
"""Which part of the drawn scenarios a commit's tier asks; probes, made to show one difference, are always asked."""
PROBES = 16


@lru_cache(maxsize=1)
def rows(file: str) -> list[Json]:
    """Questions and answers of all releases, read once for the tests that follow one another."""
    path = Path(__file__).parent / "recorded" / "releases" / f"{file}.jsonl.xz"
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def recorded(file: str, release: str, step: int = 1) -> Iterator[Json]:
    """Return the questions and answers of ``release``, probes first; of drawn ones one for each ``step``."""
    version = RELEASES[release].version
    for number, row in enumerate(rows(file)):
        answers = [answer["answer"] for answer in row["expected"] if version in answer["releases"]]
        if answers and (number < PROBES or number % step == 0):
            yield {**row, "expected": answers[0]}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("command", ["explain", "schedule"])
def test_scenarios_are_answered_as_the_release_did(release: str, command: str) -> None:
    for row in recorded(command, release, SAMPLING_STEP):
        answer = engine_answer(command, {**row["scenario"], "release": release})
        if not same(row["scenario"], answer, row["expected"]):
            assert answer == row["expected"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_command_condition_has_the_words_of_the_release(
    release: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(recorded("condition", release))
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(row["scenario"]) + "\n" for row in rows)))
    assert main(["condition", "--release", release]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert answers == [{**row["expected"], "engine": RELEASES[release].engine} for row in rows]


@pytest.mark.parametrize("release", RELEASES)
def test_configurations_are_read_as_the_release_reads_them(release: str) -> None:
    for row in recorded("configurations", release):
        answer, expected = cli_validate(row["config"], RELEASES[release]), row["expected"]
        assert answer["valid"] == expected["valid"], row["name"]
        assert answer.get("defaulted") == expected.get("defaulted"), row["name"]
        assert sorted(answer.get("errors", ())) == sorted(expected.get("errors") or ()), row["name"]


def test_every_release_was_asked_all_of_it() -> None:
    """1.36.3's answers to what was drawn are those of test_goldens.py."""
    for file, drawn in {"explain": 480, "schedule": 204, "condition": 96}.items():
        counts = {release: len(list(recorded(file, release))) for release in RELEASES}
        # What shows the differences of 1.38 is in a file of its own.
        probes = 0 if file == "schedule" else PROBES
        at_1_36 = drawn + probes if file == "condition" else probes
        expected = {**dict.fromkeys(RELEASES, drawn + probes), "1.36": at_1_36, "1.38": drawn}
        assert counts == expected, file
