"""The engine's answers against those of the real kube-scheduler, kept in recorded/."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import pytest

from tests.conformance.batches import in_batches
from tests.conformance.hunting import same
from tests.conformance.record import SCENARIOS, golden_lines, parsed, release_of_line
from tests.conformance.reference import Answer, engine_answer
from tests.support.tiers import NIGHTLY

REGRESSIONS = "regressions.jsonl"
NAME = re.compile(r'"name":\s?"([^"]*)"')


@lru_cache(maxsize=1)
def chosen_lines(file: str) -> list[str]:
    """The lines of a file; of the scenarios of each kind that were drawn, every second one in a commit's tier."""
    if NIGHTLY or file == REGRESSIONS:
        return golden_lines(file)
    chosen, kinds = [], Counter[str]()
    for line in golden_lines(file):
        name = match[1] if (match := NAME.search(line)) else ""
        kind = name.rstrip("-0123456789")
        kinds[kind] += 1
        if kinds[kind] % 2:
            chosen.append(line)
    return chosen


def answers(file: str, lines: list[str]) -> Iterator[tuple[str, Answer, Answer]]:
    """Yield the engine's answers that differ from the recorded ones."""
    for text in lines:
        line = parsed(file, text)
        answer = engine_answer(line["ask"], {**line["scenario"], "release": release_of_line(line)})
        if not same(line["scenario"], answer, line["expected"]):
            yield line["scenario"]["name"], answer, line["expected"]


@in_batches(12)
@pytest.mark.parametrize("file", SCENARIOS)
def test_the_engine_answers_as_the_real_scheduler_did(file: str, batch: slice) -> None:
    assert list(answers(file, chosen_lines(file)[batch])) == []
