from __future__ import annotations

from decimal import ROUND_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.objects import ObjectError
from kschedweb.engine.objects.quantity import NANO, parse_quantity, read_quantities, read_quantity, round_to_unit


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0", 0),
        ("1", NANO),
        ("100m", NANO // 10),
        (".5", NANO // 2),
        ("5.", 5 * NANO),
        ("+1k", 1000 * NANO),
        ("-2", -2 * NANO),
        ("1Ki", 1024 * NANO),
        ("1.5Gi", 3 * 2**29 * NANO),
        ("1e3", 1000 * NANO),
        ("1E-3", NANO // 1000),
        ("2E", 2 * 10**18 * NANO),
        ("1n", 1),
        ("0.1n", 1),
        ("12Ei", (2**63 - 1) * NANO),
        (" 1Ki  ", 1024 * NANO),
        ("\u00a02\u3000", 2 * NANO),
    ],
)
def test_every_notation_is_read(text: str, nano: int) -> None:
    assert parse_quantity(text) == nano


@pytest.mark.parametrize(
    "text", ["", "m", "1K", "1 Gi", "1ki", "--1", "1.2.3", "0x10", "1e", "NaN", "1e9999999", " ", "1\n", "\t1"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ObjectError):
        parse_quantity(text)


@pytest.mark.parametrize("value", [True, None, [], {}])
def test_a_wrong_type_is_refused_with_its_path(value: object) -> None:
    with pytest.raises(ObjectError, match=r"^spec\.x:"):
        read_quantity(value, "spec.x")


def test_null_in_a_list_of_amounts_is_nought() -> None:
    assert read_quantities({"requests": {"cpu": None, "memory": " 1 "}}, "requests") == {"cpu": 0, "memory": NANO}


@given(st.integers(0, 10**6), st.integers(0, 10**9 - 1))
def test_decimals_are_exact_to_the_nano(whole_part: int, nano: int) -> None:
    assert parse_quantity(f"{whole_part}.{nano:09}") == whole_part * NANO + nano


@given(st.decimals(0, 10**6, places=12))
def test_what_is_finer_than_a_nano_is_rounded_up(amount: Decimal) -> None:
    assert parse_quantity(f"{amount:f}") == int((amount * NANO).to_integral_value(ROUND_UP))


@given(st.integers(0, 10**15))
def test_cpu_counts_in_thousandths_rounded_up(nano: int) -> None:
    assert round_to_unit("cpu", nano) * 10**6 - nano in range(10**6)
    assert round_to_unit("memory", nano) * NANO - nano in range(NANO)


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0." + "0" * 5_000, 0),
        ("0." + "0" * 5_000 + "1", 1),
        ("0" * 5_000 + "2", 2 * NANO),
        ("1." + "0" * 5_000, NANO),
        ("1." + "0" * 5_000 + "1", NANO + 1),
        ("9" * 5_000, (2**63 - 1) * NANO),
        ("-" + "9" * 5_000, -(2**63 - 1) * NANO),
        ("1" + "0" * 5_000 + "e-5000", NANO),
        ("0." + "0" * 4_999 + "1e5000", NANO),
        ("1." + "0" * 5_000 + "Ki", 1024 * NANO),
    ],
)
def test_a_quantity_may_have_any_number_of_digits(text: str, nano: int) -> None:
    assert parse_quantity(text) == nano


def test_a_message_repeats_a_quantity_only_so_far() -> None:
    with pytest.raises(ObjectError) as caught:
        parse_quantity("x" * 5_000)
    assert len(str(caught.value)) < 200
