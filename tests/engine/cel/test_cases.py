"""What is in cases.txt. tests/conformance/test_cel_live.py asks the real scheduler the same."""

from __future__ import annotations

import pytest

from tests.engine.cel.cases import CASES, DEVICE, answer, read


@pytest.mark.parametrize("topic", list(CASES))
def test_expressions_of_a_topic(topic: str) -> None:
    device = read(DEVICE)
    assert {expression: answer(expression, device) for expression, _ in CASES[topic]} == dict(CASES[topic])
    assert len(CASES[topic]) > 5
