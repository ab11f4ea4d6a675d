"""The engine's answers against those of the real kube-scheduler 1.36.3, kept in goldens/."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedweb.engine.scenario import Scenario
from tests.conformance.make_goldens import GOLDENS, read

EXPLAIN = read(GOLDENS / "explain.jsonl.gz")
SCHEDULE = read(GOLDENS / "schedule.jsonl.gz")


def comparable(answer: Any) -> Any:
    """The answer without the order inside ``reasons``, which is left to chance."""
    if isinstance(answer, dict):
        return {key: sorted(value) if key == "reasons" else comparable(value) for key, value in answer.items()}
    return [comparable(item) for item in answer] if isinstance(answer, list) else answer


def named(lines: list[dict]) -> list[Any]:
    return [pytest.param(line, id=line["scenario"]["name"]) for line in lines]


@pytest.mark.parametrize("line", named(EXPLAIN))
def test_explanations_equal_the_real_schedulers(line: dict) -> None:
    answer = Scenario.parse(json.dumps(line["scenario"])).explain()
    assert comparable(answer) == comparable(line["expected"])


@pytest.mark.parametrize("line", named(SCHEDULE))
def test_placements_equal_the_real_schedulers(line: dict) -> None:
    answer = Scenario.parse(json.dumps(line["scenario"])).schedule()
    assert comparable(answer) == comparable(line["expected"])
