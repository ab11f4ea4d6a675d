"""The engine's answers against those of the real kube-scheduler 1.36.3, kept in goldens/."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.hunting import same
from tests.conformance.make_goldens import SCENARIOS, read
from tests.conformance.reference import engine_answer


def goldens(name: str) -> list[Any]:
    return [pytest.param(line, id=f"{line['ask']}-{line['scenario']['name']}") for line in read(name)]


@pytest.mark.parametrize("line", [line for name in SCENARIOS for line in goldens(name)])
def test_the_engine_answers_as_the_real_scheduler_did(line: dict) -> None:
    answer = engine_answer(line["ask"], line["scenario"])
    if not same(line["scenario"], answer, line["expected"]):
        assert answer == line["expected"]  # which shows where they differ
        pytest.fail("they differ in nothing that is shown")
