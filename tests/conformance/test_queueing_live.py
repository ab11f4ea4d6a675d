"""Queues nobody wrote, put to the engine and to Kueue 0.19.2: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from kschedweb.engine.json_types import Json
from tests.conformance.hunting import SEED
from tests.conformance.queueing import (
    KINDS,
    draw_scenarios,
    engine_answer,
    fetch_answers,
    find_differences,
    list_answers,
    recorded,
)
from tests.support import tiers
from tests.support.needs import missing
from tests.support.queue_loops import BORROWING_LOOP, SHARE_LOOP

COUNT = tiers.count(60, 3_000)


@pytest.fixture(scope="module")
def kueue() -> Path:
    """Kueue's own code as a program, which CI does not build."""
    program = os.environ.get("KUEUE")
    if not program:
        missing("KUEUE is not set: $(tests/originals/build kueue)")
    return Path(program)


@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_the_engine_queues_as_kueue(kueue: Path, kind: str) -> None:
    print(f"HUNT_SEED={SEED}")
    differences = list(find_differences(kueue, draw_scenarios(kind, SEED, COUNT)))
    assert not differences, f"HUNT_SEED={SEED}: {len(differences)} of {COUNT} differ, the first: {differences[0]}"


@pytest.mark.live
@pytest.mark.nightly
def test_the_program_repeats_its_recorded_answers(kueue: Path) -> None:
    lines = recorded()[:16]
    for line, answer in zip(lines, fetch_answers(kueue, [line["scenario"] for line in lines]), strict=True):
        assert list_answers(answer)[0] in list_answers(line["answer"])


@pytest.mark.live
@pytest.mark.nightly
@pytest.mark.parametrize("scenario", [BORROWING_LOOP, SHARE_LOOP], ids=lambda scenario: str(scenario["name"]))
def test_kueue_itself_evicts_without_end(kueue: Path, scenario: Json) -> None:
    (answer,) = fetch_answers(kueue, [scenario])
    assert engine_answer(scenario) in list_answers(answer)
    evictions = Counter(record["workload"] for cycle in answer["cycles"] for record in cycle.get("preempted", ()))
    assert max(evictions.values()) >= 8
