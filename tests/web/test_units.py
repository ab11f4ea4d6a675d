"""Amounts as people read them."""

from __future__ import annotations

import pytest
from django.core.paginator import Paginator
from django.template.loader import render_to_string
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.objects.quantity import NANO, parse_quantity
from kschedweb.web import units
from tests.support.html import compact


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (250, "250m"), (1000, "1"), (2800, "2.8"), (12345, "12.345"), (-200, "-200m")]
)
def test_cpu(value: int, text: str) -> None:
    assert units.format_cpu(value) == text


@given(st.integers(-(10**9), 10**9))
def test_a_cpu_amount_reads_back_as_the_same_quantity(value: int) -> None:
    assert parse_quantity(units.format_cpu(value).replace(",", "")) * 1000 == value * NANO


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (1, "0.001"), (250, "0.25"), (1200, "1.20"), (60_000, "60.00"), (9_999_995, "9,999.995")],
)
def test_cores_of_a_column(value: int, text: str) -> None:
    assert units.format_cores(value) == units.in_column(value, "cpu") == text


@given(st.integers(-(10**9), 10**9))
def test_cores_of_a_column_are_exact(value: int) -> None:
    assert round(float(units.format_cores(value).replace(",", "")) * 1000) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (1, "<0.01"), (624 << 20, "0.61"), (8 << 30, "8.00"), (3 << 40, "3,072.00"), (-(1 << 30), "-1.00")],
)
def test_memory_of_a_column(value: int, text: str) -> None:
    assert units.format_gibibytes(value) == units.in_column(value, "memory") == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (512, "512"), (1024, "1Ki"), (1536 << 20, "1.5Gi"), (8 << 30, "8Gi")]
)
def test_memory(value: int, text: str) -> None:
    assert units.format_memory(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 B"), (600_250, "586.2 KiB"), (5 << 30, "5 GiB")])
def test_bytes_stand_beside_their_unit(value: int, text: str) -> None:
    assert units.in_bytes(value) == text


@given(st.integers(1, 2**62))
def test_a_memory_amount_is_within_a_twentieth_of_its_unit(value: int) -> None:
    parsed_back = parse_quantity(units.format_memory(value).replace(",", "")) / NANO
    assert abs(parsed_back - value) <= max(0.05 * value, 1)


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (0, "nodes", "0 nodes"),
        (1, "nodes", "1 node"),
        (1, "policies", "1 policy"),
        (1, "people", "1 person"),
        (2, "people", "2 people"),
    ],
)
def test_counts_agree_with_their_noun(number: int, nouns: str, text: str) -> None:
    assert units.format_count(number, nouns) == text


@pytest.mark.parametrize(
    ("count", "number", "text"),
    [
        (0, 1, "No scenarios"),
        (1, 1, "1 scenario"),
        (3, 1, "3 scenarios"),
        (9, 2, "4–6 of 9 scenarios"),
        (4, 2, "4 of 4 scenarios"),
    ],
)
def test_a_list_says_how_much_it_shows_only_where_that_is_not_all(count: int, number: int, text: str) -> None:
    page = Paginator(range(count), 3).page(number)
    rendered = render_to_string("parts/pagination.html", {"page": page, "noun": "scenarios"}, RequestFactory().get("/"))
    assert f">{text}</span>" in compact(rendered)
