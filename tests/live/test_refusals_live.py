"""Objects that people write, put to the real API server and to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.refused import answer, draw_objects, engine_answer, same
from tests.support.tiers import count, seed

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

pytestmark = pytest.mark.live


def test_the_engine_says_what_the_api_server_says(control_plane: ControlPlane) -> None:
    drawing = seed()
    print(f"HUNT_SEED={drawing}")
    answers = [(item, answer(control_plane, item)) for item in draw_objects(drawing, count(400, 10_000))]
    assert sum(not expected["message"] for _, expected in answers) > len(answers) // 8
    assert sum(len(expected["fields"]) for _, expected in answers) > len(answers) // 2
    assert [
        (item, expected, engine_answer(item)) for item, expected in answers if not same(expected, engine_answer(item))
    ] == []
