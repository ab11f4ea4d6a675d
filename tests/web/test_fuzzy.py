"""Fit of words and names: the order of the kinds of fit, and letters in their order."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.web import fuzzy
from kschedweb.web.searching import SearchHit, fitting_hits

NAMES = st.text(alphabet="abc-/ ", min_size=1, max_size=12)
WORDS = st.text(alphabet="abc-", min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("words", "name", "kind"),
    [
        ("pods", "Pods", fuzzy.WHOLE),
        ("dark", "Dark theme", fuzzy.BEGINS),
        ("theme", "Dark theme", fuzzy.PART_BEGINS),
        ("web", "shop/web-7f9c", fuzzy.PART_BEGINS),
        ("eme", "Dark theme", fuzzy.HOLDS),
        ("cmp", "Compare policies", fuzzy.LETTERS),
        ("rdr", "Rehearse a drain", fuzzy.LETTERS),
        ("theme dark", "Dark theme", fuzzy.PART_BEGINS),
    ],
)
def test_the_kind_of_fit_is_that_of_the_worst_word(words: str, name: str, kind: int) -> None:
    fit = fuzzy.rate_fit(words, name)
    assert fit is not None
    assert fit[0] == kind


@pytest.mark.parametrize(("words", "name"), [("pmc", "Compare policies"), ("dark night", "Dark theme"), ("x", "Pods")])
def test_letters_that_are_not_there_in_this_order_do_not_fit(words: str, name: str) -> None:
    assert fuzzy.rate_fit(words, name) is None


def test_the_best_come_first_and_keywords_stand_behind_labels() -> None:
    labels = ["Overdrawn ranges", "Undo a drain", "Drain", "Drain rehearsals"]
    hits = [SearchHit(label, "/", "x") for label in labels] + [
        SearchHit("Empty nodes", "/", "x", keywords="drain evict")
    ]
    labels_found = [hit.label for hit in fitting_hits("drain", hits)]
    assert labels_found == ["Drain", "Drain rehearsals", "Undo a drain", "Empty nodes"]


def test_without_words_everything_keeps_its_order() -> None:
    hits = [SearchHit(label, "/", "x") for label in ("bb", "a", "ccc")]
    assert fitting_hits("", hits) == hits


@given(WORDS, NAMES)
def test_what_a_name_holds_always_fits_better_than_what_only_its_letters_do(word: str, name: str) -> None:
    fit = fuzzy.rate_fit(word, name)
    if word in name:
        assert fit is not None
        assert fit[0] <= fuzzy.HOLDS
    elif fit is not None:
        assert fit[0] == fuzzy.LETTERS


@given(WORDS, NAMES)
def test_the_expression_of_the_database_finds_every_name_that_fits(word: str, name: str) -> None:
    letters_in_order = re.search(".*".join(map(re.escape, word)), name, re.DOTALL) is not None
    assert (re.search(fuzzy.letters_regex(word), name) is not None) == letters_in_order
    if fuzzy.rate_fit(word, name) is not None:
        assert letters_in_order
