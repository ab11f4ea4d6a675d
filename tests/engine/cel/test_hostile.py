"""Whatever is written: it is answered or refused, soon, and never breaks the engine."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.cel import ExpressionError, compile_expression
from kschedweb.engine.cel.parser import MAX_LENGTH
from tests.engine.cel.cases import DEVICE, WORDS, answer, read

SAMPLE = read(DEVICE)


def says(expression: str) -> None:
    outcome = answer(expression, SAMPLE)
    assert outcome is None or isinstance(outcome, bool | str)


@given(st.text(max_size=200))
def test_any_text_is_answered_or_refused(text: str) -> None:
    says(text)


@given(st.integers(min_value=0))
def test_expressions_put_together_of_others_are_answered_or_refused(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        words = list(random.choice(WORDS))
        for _ in range(random.randint(1, 3)):
            start = random.randrange(len(words) + 1)
            other = random.choice(WORDS)
            first = random.randrange(len(other))
            words[start : start + random.choice([0, 1, 3])] = other[first : first + random.choice([1, 1, 3, 8])]
        says("".join(words))


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "[" * 3000,
        "-" * 9000,
        "a" + ".a" * 4000,
        "1" + " + 1" * 2500 + " == 1",
        "optional.of(1)" + ".optMap(x, x)" * 600 + ".hasValue()",
        "dyn(1)" + "[0]" * 3000,
        "{" * 4000,
        "true ? " * 1400,
        "x" * (MAX_LENGTH + 1),
        "9" * 10000 + " == 1",
        "'a'.matches('" + "(" * 900 + "a" + ")" * 900 + "')",
        "'a'.matches('" + "a{1000}" * 100 + "')",
        "'a'.matches('((a{30}){30}){30}')",
    ],
)
def test_what_is_too_much_is_refused(expression: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(expression)


@pytest.mark.parametrize(
    "expression", ["!" * 9000 + "true", "[" + "[]," * 3000 + "[]] != []", "1 == 1 && " * 900 + "true"]
)
def test_what_is_only_long_is_answered(expression: str) -> None:
    assert answer(expression, SAMPLE) is True


@pytest.mark.parametrize(
    "expression",
    [
        "cel.bind(a, 'xxxxxxxxxxxxxxxx', " + "cel.bind(a, a + a + a + a + a + a + a + a, " * 20 + "a == ''" + ")" * 21,
        "cel.bind(a, [1, 2, 3, 4], " + "cel.bind(a, a + a + a + a, " * 20 + "a == []" + ")" * 21,
        "cel.bind(a, lists.range(1000), " + "cel.bind(a, a.map(x, a), " * 5 + "a == a" + ")" * 6,
        "cel.bind(a, lists.range(40000), a.all(x, x in a))",
        "cel.bind(a, lists.range(40000), a.distinct() == a)",
        "cel.bind(a, lists.range(1000), sets.equivalent(a, a))",
        "lists.range(900000) == []",
        "['a'].map(x, 'aaaaaaaaaaaaaaaaaaaaaaa'.replace('a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb').replace("
        "'b', 'cccccccccccccccccccccccccccccccccccccccc').replace('c', 'dddddddddddddddddddddddddddddddd')) == []",
        "lists.range(200).all(x, lists.range(200).all(y, lists.range(200).all(z, x + y + z >= 0)))",
        "lists.range(5000).exists(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches('(a*)*(a*)*b' + string(x)))",
    ],
)
def test_what_would_take_too_long_is_refused(expression: str) -> None:
    assert answer(expression, SAMPLE) in (None, "not valid")
