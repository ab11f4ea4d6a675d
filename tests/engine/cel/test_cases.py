"""Cases of cases.txt. tests/conformance/test_cel_live.py puts the same to the real schedulers."""

from __future__ import annotations

import pytest

from tests.engine.cel.cases import CASES, DEVICE, LANGUAGES, answer, read


@pytest.mark.parametrize("release", LANGUAGES)
@pytest.mark.parametrize("topic", list(CASES["1.36"]))
def test_expressions_of_a_topic(topic: str, release: str) -> None:
    device, cases = read(DEVICE), CASES[release][topic]
    assert {expression: answer(expression, device, LANGUAGES[release]) for expression, _ in cases} == dict(cases)
    assert len(cases) > 5
