"""YAML from strangers: every reader answers within bounds, and all see the same values."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.clusters.importing.documents import TextLimits, UntrustedTextError, documents_read
from kschedweb.engine.config.source import UnreadableError
from kschedweb.engine.config.yaml_text import read_yaml
from kschedweb.engine.documents.files import ReadError, read_documents
from kschedweb.engine.documents.marked_documents import MarkedDocumentError as TextError
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.documents.scalars import resolve_scalar
from kschedweb.engine.documents.values import read_documents as values
from kschedweb.engine.documents.writing import dump_yaml
from kschedweb.engine.documents.yaml_events import Bounds, RefusedError, read_events
from kschedweb.engine.releases import load

LIMITS = TextLimits(size=1 << 20, depth=50, nodes=50_000)
PARTS = [
    *("a", "b: ", "- ", "? ", "\n", "  ", "[", "]", "{", "}", ", ", ": ", "#", "|", ">", "'", '"', "&x ", "*x", "<<: "),
    *("1", "0x1f", "1:30", "1:00:00.5", "9" * 5_000, "0." + "0" * 5_000, "1e999", "y", "~", "2026-01-01", ".inf"),
    *("!!int ", "!!str ", "!foo ", "!!binary ", "%TAG !a! x\n", "---\n", "...\n", "\t", "\x00", "\ud800", "\u2028"),
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=25).map("".join)


@settings(max_examples=400, derandomize=True)
@given(TEXTS)
def test_every_reader_answers_any_text(text: str) -> None:
    loaded = load(text) if text.isprintable() else None
    assert loaded is None or loaded.valid is not bool(loaded.errors)
    readers: list[tuple[Callable[[str], object], type[Exception]]] = [
        (read_yaml, UnreadableError),
        (parse_document, TextError),
        (lambda document: documents_read(document, LIMITS), UntrustedTextError),
        (lambda document: read_documents(document.encode("utf-8", "replace")), ReadError),
    ]
    for reader, refusal in readers:
        with contextlib.suppress(refusal):
            reader(text)


@settings(max_examples=400, derandomize=True)
@given(TEXTS)
def test_the_editor_sees_the_values_that_the_engine_sees(text: str) -> None:
    try:
        parsed, expected = parse_document(text).data, read_yaml(text).value
    except (TextError, UnreadableError):
        return
    if isinstance(parsed, str | int | float | None) and "!" not in text:
        assert parsed == expected or (isinstance(parsed, float) and float(expected) == parsed)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1:00:00", "1:00:00"),
        ("190:20:30.15", "190:20:30.15"),
        ("2026-01-01", "2026-01-01"),
        ("9" * 5_000, "9" * 5_000),
        ("-" + "9" * 5_000, "-" + "9" * 5_000),
        ("0." + "0" * 5_000, 0.0),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 2.0**64),
        ("0x" + "0" * 5_000 + "1f", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        ("1e999", "1e999"),
        ("y", True),
        ("N", False),
        ("~", None),
        ("-.INF", -math.inf),
    ],
)
def test_a_plain_scalar_means_what_it_means_to_go_yaml(text: str, value: Any) -> None:
    scalar = resolve_scalar(text)
    assert (type(scalar), scalar) == (type(value), value)


@pytest.mark.parametrize("text", ["y", "No", "1e3", "0o17", "1_0", "~", "", "0x1f", "1:30", "<<", "2026-01-01", "a"])
def test_text_that_is_written_is_read_as_text(text: str) -> None:
    for reader in (
        lambda document: parse_document(document).data,
        lambda document: documents_read(document, LIMITS)[0],
    ):
        assert reader(dump_yaml({text: text})) == {text: text}


def test_tag_directives_are_bounded() -> None:
    """The parser looks each of them up among all others."""
    few, many = ("".join(f"%TAG !a{n}! x{n}:\n" for n in range(count)) + "---\na: 1\n" for count in (100, 101))
    assert parse_document(few).data == {"a": 1}
    for text, line in ((many, 101), (f"%TAG !a! {'x' * 1_000}\n---\na: 1\n", 1)):
        with pytest.raises(RefusedError, match="at most 100 directives %TAG of 1,000 characters") as caught:
            list(read_events(text, Bounds(5, 5)))
        assert caught.value.line == line


def test_a_long_text_is_not_repeated_by_aliases() -> None:
    loaded = load(f"a: &a {'x' * 400_000}\nb: [{'*a, ' * 1_000}]\n")
    assert loaded.errors == ["yaml: document contains excessive aliasing"]


MERGED = """\
labels: &l {a: "1", b: "2"}
annotations: {b: early, <<: *l, a: late}
data:
  <<: [{x: first, c: third}, *l, {x: second}]
  z: &z last
  w: [*z, *l]
"""


def test_aliases_and_merge_keys_are_followed_as_kubectl_does() -> None:
    """``kubectl label --local -o json`` gives the same values."""
    labels = {"a": "1", "b": "2"}
    data = {**labels, "x": "first", "c": "third", "z": "last", "w": ["last", labels]}
    document = documents_read(MERGED, LIMITS)[0]
    assert document == read_documents(MERGED.encode())[0] == read_yaml(MERGED).value == parse_document(MERGED).data
    assert document == {"labels": labels, "annotations": {"a": "late", "b": "2"}, "data": data}
    document["labels"]["a"] = "changed"
    assert document["data"]["w"][1] == labels  # a copy of its own


@pytest.mark.parametrize(
    ("text", "expected_error"),
    [
        ("a: &a [*a]", "the alias .a stands for no complete value before it"),
        ("a: &a 1\n---\nb: *a", "the alias .a stands for no complete value before it"),
        ("b: {<<: 1}", "a merge key .<<. takes a mapping"),
        ("a: &a [1, 1, 1]\nb: [*a, *a]", "more than 12 values"),
        ("a: &a [[[1]]]\nb: [*a]", "deeper than 4 levels"),
        (f"a: &a {'x' * 400_000}\nb: [*a, *a, *a]", "repeat more than 1,048,576 characters"),
    ],
)
def test_what_aliases_bring_is_within_the_bounds(text: str, expected_error: str) -> None:
    with pytest.raises(RefusedError, match=expected_error):
        values(text, Bounds(4, 12))


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("labels", "b"), (1, 24, 27)),
        (("annotations", "b"), (1, 24, 27)),
        (("annotations", "a"), (2, 36, 40)),
        (("data", "a"), (1, 16, 19)),
        (("data", "c"), (4, 22, 27)),
        (("data", "w", 0), (5, 6, 13)),
        (("data", "w", 1, "a"), (1, 16, 19)),
    ],
)
def test_what_an_alias_brings_has_the_place_of_the_anchors_text(
    path: tuple[str | int, ...], place: tuple[int, int, int]
) -> None:
    assert parse_document(MERGED).place(path) == place


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "expected_error", "line"),
    [
        (LAUGHS, "There are more than 50,000 values.", 5),
        (LAUGHS.replace("[", "{<<: [").replace("]", "]}").replace("x, ", ""), "A merge key (<<) takes a mapping", 1),
        (f"a: &a {'x' * 400_000}\nb: [*a, *a, *a]", "Aliases repeat more than 1,048,576 characters of text.", 2),
        ("a: &a\n- [" + "[" * 30 + "]" * 30 + "]\nb: [" + "[" * 20 + "*a" + "]" * 21, "Values are nested deeper", 3),
        ("a: &a [*a]", "The alias *a stands for no complete value before it.", 1),
        ("*a : 1", "The alias *a stands for no complete value before it.", 1),
        ("a: &a [1]\n*a : 1", "A key must be plain text.", 2),
    ],
)
def test_the_editor_refuses_what_aliases_bring_too_much_of(text: str, expected_error: str, line: int) -> None:
    with pytest.raises(TextError) as caught:
        parse_document(text)
    assert caught.value.problem.message.startswith(expected_error)
    assert caught.value.problem.line == line


def test_paths_below_a_long_key_are_not_kept() -> None:
    loaded = load("? " + "k" * 400_000 + "\n: [" + "1, " * 10_000 + "]\nz: 1\n")
    assert sum(map(len, loaded.lines)) < 5 << 20
    assert loaded.line("z") == 3
    assert loaded.line("k" * 400_000) == 1
