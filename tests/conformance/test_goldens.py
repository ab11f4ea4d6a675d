"""The engine's answers against those of the real kube-scheduler 1.36.3, kept in goldens/."""

from __future__ import annotations

import re

import pytest

from tests.conformance.hunting import same
from tests.conformance.make_goldens import SCENARIOS, parsed, written
from tests.conformance.reference import engine_answer

NAME = re.compile(r'"name":\s?"([^"]*)"')


def goldens() -> list[object]:
    """Every line, parsed by its own test: a process that runs a few of them would wait for all."""
    return [
        pytest.param(file, line, id=f"{file.partition('.')[0]}-{found[1] if (found := NAME.search(line)) else ''}")
        for file in SCENARIOS
        for line in written(file)
    ]


@pytest.mark.parametrize(("file", "text"), goldens())
def test_the_engine_answers_as_the_real_scheduler_did(file: str, text: str) -> None:
    line = parsed(file, text)
    answer = engine_answer(line["ask"], line["scenario"])
    if not same(line["scenario"], answer, line["expected"]):
        assert answer == line["expected"]  # which shows where they differ
        pytest.fail("they differ in nothing that is shown")
