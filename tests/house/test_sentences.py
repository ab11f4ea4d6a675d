"""A sentence of a page is asserted by one test: to reword it is a change of at most one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations

from tests.conftest import ROOT
from tests.support.html import elements

WORDS = 3  # and more are a sentence


def asserted_sentences(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Each sentence that an assertion looks for, with its test (or another function) and its line."""
    for owner in tree.body:
        for function in owner.body if isinstance(owner, ast.ClassDef) else [owner]:
            name = getattr(function, "name", "")
            for statement in ast.walk(function):
                if isinstance(statement, ast.Assert):
                    for part in ast.walk(statement):
                        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In):
                            needle = part.left
                            if isinstance(needle, ast.Constant) and isinstance(needle.value, str):
                                yield needle.value, name, part.lineno


def test_no_sentence_and_no_part_of_one_is_asserted_in_two_tests() -> None:
    places = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        relative_path = path.relative_to(ROOT)
        for words, function, line in asserted_sentences(ast.parse(path.read_text())):
            if len(words.split()) >= WORDS:
                places.append((words, f"{relative_path}::{function}", f"{relative_path}:{line}"))
    assert len(places) > 100
    # One test says how a sentence reads, the others what was decided: see tests/support/html.py.
    assert [
        f"{words!r} at {place} and at {other_place}"
        for (words, test, place), (longer, another, other_place) in permutations(places, 2)
        if words in longer and test != another
    ] == []


def test_tests_find_what_they_ask_a_page_for() -> None:
    page = '<main id="main"><p class="soft a"><b data-state="is up">one</b>\n two<br></p><a href="/x/?y=1">b</a></main>'
    for selector in ("b", "[data-state]", "#main .soft b", "p.a [data-state=is up]", "p.soft.a b[data-state]"):
        assert [element.text for element in elements(page, selector)] == ["one"], selector
    assert [(element.text, element["href"]) for element in elements(page, "main a[href=/x/?y=1]")] == [("b", "/x/?y=1")]
    for selector in ("i", "b#main", ".soft a", "b main", "b[data-state=is]", "[href]b"):
        assert elements(page, selector) == [], selector
    assert elements(page, "p")[0].text == "one two"
