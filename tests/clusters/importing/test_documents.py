"""JSON and YAML from strangers: the same values from both, and a clear place for every refusal."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.importing.documents import TextLimits, UntrustedTextError, documents_read
from kschedweb.engine.documents.writing import Dumper

LIMITS = TextLimits(size=1_000_000, depth=20, nodes=10_000, yaml_size=500_000)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_json_is_read_as_it_stands(value: dict[str, Any]) -> None:
    assert documents_read(json.dumps(value).encode(), LIMITS) == [value]


@given(st.dictionaries(texts.filter(lambda text: "\x85" not in text), values, min_size=1, max_size=5))
def test_yaml_gives_what_was_written(value: dict[str, Any]) -> None:
    text = "---\n" + yaml.dump(value, Dumper=Dumper, allow_unicode=False)
    if "!!float" in text:
        return  # PyYAML marks floats such as 1e+16, which are then read as the same number.
    assert documents_read(text, LIMITS) == [json.loads(json.dumps(value))]


def test_documents_follow_one_another() -> None:
    assert documents_read('{"a": 1}\n{"b": 2} [3]', LIMITS) == [{"a": 1}, {"b": 2}, [3]]
    assert documents_read("a: 1\n---\n---\nb: 2\n...\n", LIMITS) == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2001-99-99", "2001-99-99"),
        ("22:22", "22:22"),
        ("0755", 493),
        ("0o17", 15),
        ("0x1F", 31),
        ("-010", -8),
        ("09", 9),
        ("1.5e3", 1500.0),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("v1", "v1"),
        ("1.2.3", "1.2.3"),
        ("<<", "<<"),
    ],
)
def test_plain_scalars_are_read_as_kubectl_reads_them(text: str, value: Any) -> None:
    assert documents_read(f"a: {text}", LIMITS) == [{"a": value}]


def test_windows_marks_are_understood() -> None:
    assert documents_read('{"a": "é"}'.encode("utf-16"), LIMITS) == [{"a": "é"}]
    assert documents_read(b"\xef\xbb\xbf{}", LIMITS) == [{}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"  \n ", "empty"),
        (b"# only a comment", "no document"),
        (b'{"a": ', "ends in the middle"),
        (b'{"a": 1', "ends in the middle"),
        (b'{"a" 1}', r"line 1, column 6"),
        (b"{'a': 1}", "not JSON"),
        (b'{"a": NaN}', "NaN is not"),
        (b'{"a": -Infinity}', "-Infinity is not"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": 99999999999999999999}', "64 bits"),
        (b'{"a": 1' + b"0" * 5000 + b"}", "64 bits"),
        (b'{"a": 1, "a": 2}', "'a' stands twice"),
        (b'{"a": "\\ud800"}', "cannot be stored"),
        (b'{"\\ud800": 1}', "cannot be stored"),
        (b'{"a": "\\u0000"}', "cannot be stored"),
        (b'{"a":' * 30 + b"1" + b"}" * 30, "deeper than 20"),
        (b"[" * 100_000, "deeper than 20"),
        (b"[" + b"1," * 20_000 + b"1]", "more than 10,000 values"),
        (b"a: [1]\nb: *x", r"Line 2, column 4: the alias \*x stands for no complete value"),
        (b"a: 1\na: 2", r"Line 2, column 1: the key 'a' stands twice"),
        (b"a: !!python/object:os.system x", "is not taken"),
        (b"a: !!binary aGk=", "is not taken"),
        (b"a: .nan", "not a number that JSON knows"),
        (b"a: -.inf", "not a number that JSON knows"),
        (b"a: 1e999", "too large"),
        (b"? [a]\n: 1", "a key must be text"),
        (b"a: [1", "not YAML"),
        (b"a: b: c", "not YAML"),
        (b"\tb: 1", "not YAML"),
        (b'a: "\\0"', "NUL"),
        (b"a: [" * 30, "deeper than 20"),
        (b"\n".join(b"- 1" for _ in range(20_000)), "more than 10,000 values"),
        (b"\xff\xff\xff", "byte 1 is not UTF-8"),
        (b"abc\x00def", "NUL bytes"),
        (b"\x1f\x8b\x08\x00", "gzip file"),
        (b"PK\x03\x04rest", "zip file"),
        (b"x" * 1_000_001, "larger than 976 KiB"),
        (b"x" * 500_001, "488 KiB of YAML: send it as JSON"),
    ],
)
def test_a_refusal_says_what_and_where(data: bytes, message: str) -> None:
    with pytest.raises(UntrustedTextError, match=message):
        documents_read(data, LIMITS)


def test_many_aliases_cost_nothing() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(20)
    )
    with pytest.raises(UntrustedTextError, match="more than 10,000 values"):
        documents_read(bomb, LIMITS)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    with contextlib.suppress(UntrustedTextError):
        assert documents_read(data, LIMITS)
