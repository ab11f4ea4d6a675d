"""Programs: what is kept, what is refused and how that is said."""

from __future__ import annotations

import pytest

from kschedweb.engine.cel import (
    LANGUAGE_1_36,
    LANGUAGE_SINCE_1_37,
    LANGUAGE_UP_TO_1_35,
    Device,
    EvaluationError,
    ExpressionError,
    compile_expression,
    to_quantity,
)
from kschedweb.engine.cel.environment import LEFT_OUT
from tests.engine.cel.cases import DEVICE, expanded, read


def test_a_program_is_made_once() -> None:
    assert compile_expression("device.driver == 'a'") is compile_expression("device.driver == 'a'")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "the end is unexpected there"),
        ("1 +", "the end is unexpected there"),
        ("device.driver == #", "the character '#' at 18 belongs to no word of CEL"),
        ("[1, 2", "] is expected before the end"),
        ("99999999999999999999 == 1", "99999999999999999999 is not a whole number of 64 bits"),
        ("9223372036854775808 == 1", "9223372036854775808 is not a whole number of 64 bits"),
        ("'\\ud800' == ''", "\\ud800 is no character"),
        ("let == 1", "let is a reserved word"),
        ("a.b == 1", "nothing is called a"),
        ("device.foo", "a device has no field foo"),
        ("'a'.foo", "string has no field foo"),
        ("foo(1)", "no function is called foo"),
        ("size(1) == 1", "size is not defined for (int)"),
        ("1 == 'a'", "_==_ is not defined for (int, string)"),
        ("1 && true", "bool is expected, not int"),
        ("[1, 'a'] == []", "int is expected, not string"),
        ("[dyn(1), 1] == []", "a list or map has both dyn and int"),
        ("[?1] == []", "int after ? is not known to be an optional"),
        ("1", "it must evaluate to bool or the unknown type, not int"),
        ("1.all(x, true)", "a macro goes over lists and maps, not over int"),
        ("[1].all(x.y, true)", "the variable of a macro must be a simple name"),
        ("[1].all(x, x, true)", "the variable x is named twice"),
        ("has(1)", "has() takes a field selection"),
        ("Foo{} == 1", "Foo{…}: messages cannot be made here"),
        ("int('a') == 1", "it has no value for any device: type conversion error from 'string' to 'int'"),
        ("'a'.matches('[')", "the pattern '[' is no regular expression of Go, or of a kind that is left out"),
        ("'é'.matches('(?i)é')", "a pattern folds the case of letters that are not ASCII"),
    ],
)
def test_what_is_wrong_is_said(expression: str, why: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_expression(expression)
    assert str(refused.value) == (f"the CEL expression {expression!r}: {why}" if expression else why)


def test_a_long_expression_is_named_by_its_beginning() -> None:
    with pytest.raises(ExpressionError, match=r"^the CEL expression '1 == 1 && .{110}…': "):
        compile_expression("1 == 1 && " * 100)


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_functions_that_are_left_out_are_refused_by_name(name: str) -> None:
    assert not any(name in language.functions for language in (LANGUAGE_UP_TO_1_35, LANGUAGE_1_36, LANGUAGE_SINCE_1_37))
    for call in (f"{name}('a') == 1", f"dyn(1).{name}() == 1")[: 1 if "." in name else 2]:
        with pytest.raises(ExpressionError, match=f"the function {name} is left out of the simulation"):
            compile_expression(call)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("$c.memory.compareTo($c.big) > 0 || $c.memory.isInteger()", "kube-scheduler changes a quantity"),
        ("quantity($a.s + '1e999999999') == $c.memory", "an exponent out of range"),
        ("lists.range($a.i * 100000).size() > 0", "too long"),
        ("lists.range($a.i * 8000).all(x, lists.range(100).all(y, x + y >= 0))", "more than 200000 steps"),
        ("$a.s.matches($a.p)", "is no regular expression of Go"),
    ],
)
def test_some_is_refused_only_for_the_values_of_a_device(expression: str, why: str) -> None:
    raw = {
        "attributes": DEVICE["attributes"] | {"p": {"string": "["}, "s": {"string": ""}},
        "capacity": DEVICE["capacity"] | {"big": {"value": "1.5Ki"}},
    }
    program = compile_expression(expanded(expression))
    with pytest.raises(ExpressionError, match=why) as refused:
        program.matches(read(raw))
    assert str(refused.value).startswith("the CEL expression ")


def test_up_to_1_36_a_sum_may_change_what_is_added_to() -> None:
    big = Device("gpu.example.com", {}, {"big": to_quantity("1.5Ki")}, False)
    expression = expanded("$c.big.add(1) == $c.big")
    for language in (LANGUAGE_UP_TO_1_35, LANGUAGE_1_36):
        with pytest.raises(ExpressionError, match="kube-scheduler changes a quantity that it adds to"):
            compile_expression(expression, language).matches(big)
    assert not compile_expression(expression, LANGUAGE_SINCE_1_37).matches(big)


def test_what_is_refused_of_values_that_are_written_out_may_not_be_asked() -> None:
    expression = "dyn(quantity('1.5Ki')).add(1) == quantity('2Ki')"
    assert compile_expression(f"true || {expression}", LANGUAGE_1_36).matches(read(DEVICE))


def test_only_from_1_36_on_includes_is_known() -> None:
    expression = expanded("$a.s.includes('x')")
    with pytest.raises(ExpressionError, match="no function is called includes"):
        compile_expression(expression, LANGUAGE_UP_TO_1_35)
    assert compile_expression(expression, LANGUAGE_1_36).matches(read(DEVICE))


def test_a_sum_of_its_own_is_not_refused() -> None:
    small = Device("gpu.example.com", {}, {"big": to_quantity("1.5Ki")}, False)
    assert compile_expression(expanded("quantity('1.5Ki').add(1).compareTo($c.big) > 0")).matches(small)


def test_one_evaluation_says_nothing_of_the_next() -> None:
    program = compile_expression(expanded("[1, 2].map(x, x + $a.i).sum() > 10 || $a.missing"))
    device = read(DEVICE)
    for _ in range(2):
        assert program.matches(device)
    with pytest.raises(EvaluationError, match=r"^no such key: i$"):
        program.matches(Device("gpu.example.com", {}, {}, False))
    assert program.matches(device)
