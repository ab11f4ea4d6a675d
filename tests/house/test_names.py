"""Names say what they hold (docs/naming.md). The bounds may only fall."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT
from tests.support.names import TreeNames, measure_names

# Shares of bound names that are filler words: in all, and in each room.
MOST_FILLER, MOST_FILLER_IN_A_ROOM, MOST_FILLER_IN_TESTS = 0.0015, 0.006, 0.002
MOST_ONE_WORD_FUNCTIONS = 0.19
# Class names that may stand in more than two modules.
SHARED_CLASSES = {"Question": "the model of each app whose questions wait for an answer"}

# Words that begin a clause, where a docstring begins with a verb or a noun.
CLAUSE_WORDS = {"How", "That", "What", "When", "Where", "Whether", "Which", "Who", "Whom", "Why"}


@pytest.fixture(scope="module")
def tree() -> TreeNames:
    return measure_names(ROOT, "kschedweb")


def test_hardly_a_name_is_filler(tree: TreeNames) -> None:
    assert tree.filler_share <= MOST_FILLER


def test_no_room_is_worse_than_the_others(tree: TreeNames) -> None:
    assert {name: room.filler for name, room in tree.rooms.items() if room.filler_share > MOST_FILLER_IN_A_ROOM} == {}


def test_names_of_tests_say_as_much() -> None:
    assert measure_names(ROOT, "tests").filler_share <= MOST_FILLER_IN_TESTS


def test_functions_are_a_verb_and_its_object(tree: TreeNames) -> None:
    assert tree.one_word_share <= MOST_ONE_WORD_FUNCTIONS


def test_a_class_name_says_which(tree: TreeNames) -> None:
    modules_by_class = {name: sorted(modules) for name, modules in tree.classes.items() if len(modules) > 2}
    assert {name: modules for name, modules in modules_by_class.items() if name not in SHARED_CLASSES} == {}


@pytest.mark.parametrize("package", ["kschedweb", "tests"])
def test_docstrings_begin_with_a_verb_or_a_noun(package: str) -> None:
    clauses = [
        f"{path.relative_to(ROOT)}: {docstring.splitlines()[0]}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        if (docstring := ast.get_docstring(node)) and docstring.split(maxsplit=1)[0].rstrip(",.:") in CLAUSE_WORDS
    ]
    assert clauses == []
