"""The engine's answers against those of the real kube-scheduler, kept in recorded/."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.conformance.hunting import same
from tests.conformance.record import SCENARIOS, parsed, release_of_line, written
from tests.conformance.reference import engine_answer

REGRESSIONS = "regressions.jsonl"
NAME = re.compile(r'"name":\s?"([^"]*)"')


def goldens() -> Sequence[object]:
    """Every line, parsed by its own test: a process that runs a few of them would wait for all.

    Of the scenarios of each kind that were drawn, every second one is left to the full tier.
    """
    found, kinds = [], Counter[str]()
    for file in SCENARIOS:
        for line in written(file):
            name = match[1] if (match := NAME.search(line)) else ""
            kind = f"{file} {name.rstrip('-0123456789')}"
            kinds[kind] += 1
            marks = [] if file == REGRESSIONS or kinds[kind] % 2 else [pytest.mark.nightly]
            found.append(pytest.param(file, line, id=f"{file.partition('.')[0]}-{name}", marks=marks))
    return found


@pytest.mark.parametrize(("file", "text"), goldens())
def test_the_engine_answers_as_the_real_scheduler_did(file: str, text: str) -> None:
    line = parsed(file, text)
    answer = engine_answer(line["ask"], {**line["scenario"], "release": release_of_line(line)})
    if not same(line["scenario"], answer, line["expected"]):
        assert answer == line["expected"]  # which shows where they differ
        pytest.fail("they differ in nothing that is shown")
