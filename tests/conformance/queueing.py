"""Kueue's recorded scenarios, and the engine's answers in the form in which Kueue's are recorded."""

from __future__ import annotations

import json
import lzma
import re
from functools import cache
from pathlib import Path

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.scenario import answer_scenario

RECORDED = Path(__file__).parent / "recorded" / "kueue.jsonl.xz"


@cache
def recorded() -> list[Json]:
    """Return the recorded lines: ``scenario``, and Kueue's ``answer``."""
    with lzma.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def group_name(scenario: Json) -> str:
    """Return the kind of a scenario: what stands before its number."""
    name: str = scenario["name"]
    return "issue" if name.startswith("issue-") else re.sub(r"-\d+$", "", name)


def list_answers(answer: Json) -> list[Json]:
    """Return all answers that Kueue gave in its repetitions: the most frequent one first."""
    first = {key: value for key, value in answer.items() if key not in ("alternatives", "alternativesLeftOff")}
    return [first, *answer.get("alternatives", ())]


def engine_answer(scenario: Json) -> Json:
    answer: Json = json.loads(json.dumps(answer_scenario(scenario)))
    return answer
