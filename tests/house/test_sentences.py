"""A sentence of a page is asserted by one test: to reword it is a change of at most one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.conftest import ROOT
from tests.support.html import elements

WORDS = 3  # and more are a sentence


def asserted(tree: ast.Module) -> Iterator[tuple[str, str, int]]:
    """Each sentence that an assertion looks for, the outermost function or class's method it is in, its line."""
    for owner in tree.body:
        for one in owner.body if isinstance(owner, ast.ClassDef) else [owner]:
            name = getattr(one, "name", "")
            for statement in ast.walk(one):
                if isinstance(statement, ast.Assert):
                    for part in ast.walk(statement):
                        if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.In):
                            left = part.left
                            if isinstance(left, ast.Constant) and isinstance(left.value, str):
                                yield left.value, name, part.lineno


def test_no_sentence_is_asserted_in_two_tests() -> None:
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for words, function, line in asserted(ast.parse(path.read_text())):
            if len(words.split()) >= WORDS:
                where = path.relative_to(ROOT)
                places[words].setdefault(f"{where}::{function}", f"{where}:{line}")
    assert len(places) > 100
    twice = {words: " and ".join(found.values()) for words, found in places.items() if len(found) > 1}
    # One test says how a sentence reads, the others what was decided: see tests/support/html.py.
    assert [f"{words!r}: {found}" for words, found in twice.items()] == []


def test_tests_find_what_they_ask_a_page_for() -> None:
    page = '<main id="main"><p class="soft a"><b data-state="is up">one</b>\n two<br></p><a href="/x/?y=1">b</a></main>'
    for selector in ("b", "[data-state]", "#main .soft b", "p.a [data-state=is up]", "p.soft.a b[data-state]"):
        assert [one.text for one in elements(page, selector)] == ["one"], selector
    assert [(one.text, one["href"]) for one in elements(page, "main a[href=/x/?y=1]")] == [("b", "/x/?y=1")]
    for selector in ("i", "b#main", ".soft a", "b main", "b[data-state=is]", "[href]b"):
        assert elements(page, selector) == [], selector
    assert elements(page, "p")[0].text == "one two"
