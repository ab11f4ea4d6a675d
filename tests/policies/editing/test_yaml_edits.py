"""Edits change what a document says and nothing else in its text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kschedweb.engine.documents.marked_documents import MarkedDocumentError, parse_document
from kschedweb.engine.documents.writing import Dumper
from kschedweb.policies.editing import yaml_edits
from kschedweb.policies.editing.yaml_edits import rewrite_yaml
from tests.support import tiers

COMMENTED_TEXT = """\
# Our scheduler.
apiVersion: kubescheduler.config.k8s.io/v1   # v1
kind: KubeSchedulerConfiguration
profiles:   # all of them
  # the first
  - schedulerName: default-scheduler # usual
    plugins:
      score: # scores
        enabled:
          - name: NodeResourcesFit  # fit
            # five
            weight: 5
          - {name: ImageLocality, weight: 2}
      multiPoint:
    pluginConfig:
      # packs
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: "LeastAllocated" # why
            resources: [{name: cpu, weight: 1}]
  - schedulerName: second
# end
"""

KEYS = st.sampled_from(["name", "schedulerName", "args", "enabled", "weight", "x"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10_000),
    st.floats(-9, 9).map(lambda number: round(number, 2)),
    st.sampled_from(
        ["", "yes", "null", "1", "0x10", "- a", "a: b", "#no", "ü", "two\nlines\n", "NodePorts", "1e3", "~"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=14,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def share_equal_values(value: Any, values_by_text: dict[str, Any]) -> Any:
    """``value`` with equal lists and objects made one, which PyYAML writes once, with an anchor."""
    if isinstance(value, dict):
        value = {key: share_equal_values(item, values_by_text) for key, item in value.items()}
    elif isinstance(value, list):
        value = [share_equal_values(item, values_by_text) for item in value]
    else:
        return value
    return values_by_text.setdefault(json.dumps(value), value)


def write_in_style(data: dict[str, Any], style: str) -> str:
    if style == "json":
        return json.dumps(data, ensure_ascii=False)
    if style == "json, indented":
        return json.dumps(data, indent=2, ensure_ascii=False)
    if style == "anchored":
        return yaml.dump(share_equal_values(data, {}), Dumper=Dumper, allow_unicode=True, sort_keys=False)
    if style == "flow":
        return yaml.safe_dump(data, default_flow_style=True, allow_unicode=True, sort_keys=False)
    return yaml_edits._dump_yaml(data, 2 if style == "indented" else 0)


@pytest.fixture(scope="module", autouse=True)
def no_fallback() -> Iterator[None]:
    """Laying the whole document out anew is the last resort, and no edit should need it."""

    def fail(_target: dict[str, Any]) -> str:
        raise AssertionError("the document was laid out anew")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_edits, "_dump_anew", fail)
        yield


def test_only_the_changed_lines_change() -> None:
    data = parse_document(COMMENTED_TEXT).data
    profile = data["profiles"][0]
    profile["pluginConfig"][0]["args"]["scoringStrategy"]["type"] = "MostAllocated"
    profile["plugins"]["score"]["enabled"][0]["weight"] = 7
    profile["plugins"]["multiPoint"] = {"enabled": [{"name": "NodeAffinity", "weight": 4}]}
    data["profiles"][1]["percentageOfNodesToScore"] = 30
    assert rewrite_yaml(COMMENTED_TEXT, data) == (
        COMMENTED_TEXT.replace('"LeastAllocated"', '"MostAllocated"')
        .replace("weight: 5", "weight: 7")
        .replace(
            "      multiPoint:\n",
            "      multiPoint:\n        enabled:\n          - name: NodeAffinity\n            weight: 4\n",
        )
        .replace("  - schedulerName: second\n", "  - schedulerName: second\n    percentageOfNodesToScore: 30\n")
    )


def test_removed_entry_takes_only_its_own_lines() -> None:
    data = parse_document(COMMENTED_TEXT).data
    del data["profiles"][0]["plugins"]["score"]["enabled"][0]
    changed_text = rewrite_yaml(COMMENTED_TEXT, data)
    assert changed_text == COMMENTED_TEXT.replace(
        "          - name: NodeResourcesFit  # fit\n            # five\n            weight: 5\n", ""
    )


def test_comment_beside_a_replaced_block_stays() -> None:
    data = parse_document(COMMENTED_TEXT).data
    data["profiles"][0]["plugins"]["score"] = {}
    assert "      score: {} # scores\n" in rewrite_yaml(COMMENTED_TEXT, data)


def test_json_stays_json() -> None:
    text = '{\n  "kind": "X",\n  "profiles": [\n    {"schedulerName": "a"}\n  ]\n}\n'
    target = {"kind": "X", "profiles": [{"schedulerName": "a", "percentageOfNodesToScore": 5}], "parallelism": 3}
    assert json.loads(rewrite_yaml(text, target)) == target


def test_empty_document_is_filled() -> None:
    assert rewrite_yaml("# nothing yet\n", {"kind": "X"}) == "# nothing yet\nkind: X\n"


ANCHORED_TEXT = """\
base: &base   # what all have
  x: 1   # one
  args: [a, &b b]
one: {<<: *base, weight: 2}
two:
  <<: *base   # as the base
  # heavier
  weight: 3
also: [*base, *b]   # both
weight: 4
"""


@pytest.mark.parametrize(
    ("path", "value", "changes"),
    [
        (("weight",), 5, {"weight: 4": "weight: 5"}),
        (("two", "weight"), 5, {"weight: 3": "weight: 5"}),
        (("two", "x"), 2, {"  <<: *base   # as": "  x: 2\n  args:\n    - a\n    - b   # as"}),
        (("one", "x"), 2, {"<<: *base, w": '"x": 2, "args": ["a", "b"], w'}),
        (("also", 1), "c", {"*b]": '"c"]'}),
        (("also",), ["c"], {"[*base, *b]": '["c"]'}),
        (("base", "args", 1), "b", {}),
    ],
)
def test_an_edit_of_what_an_alias_brings_writes_it_out_there(
    path: tuple[str | int, ...], value: Any, changes: dict[str, str]
) -> None:
    data = parse_document(ANCHORED_TEXT).data
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    expected = ANCHORED_TEXT
    for old, new in changes.items():
        assert old in expected
        expected = expected.replace(old, new)
    assert rewrite_yaml(ANCHORED_TEXT, data) == expected


def test_an_edit_of_an_anchors_text_leaves_what_its_aliases_stood_for() -> None:
    data = parse_document(ANCHORED_TEXT).data
    data["base"]["x"] = 9
    changed_text = rewrite_yaml(ANCHORED_TEXT, data)
    assert parse_document(changed_text).data == data
    assert "  x: 9   # one\n" in changed_text
    assert "  # heavier\n" in changed_text
    del data["base"]
    assert parse_document(rewrite_yaml(ANCHORED_TEXT, data)).data == data
    assert "  # heavier\n" in rewrite_yaml(ANCHORED_TEXT, data)


@settings(max_examples=tiers.count(60, 1500), deadline=None)
@given(after=DOCUMENTS, kept_names=st.sets(st.sampled_from(["base", "one", "two", "also", "weight"])))
def test_a_text_with_anchors_says_what_it_was_told_to(after: dict[str, Any], kept_names: set[str]) -> None:
    target = {name: value for name, value in parse_document(ANCHORED_TEXT).data.items() if name in kept_names} | after
    assert yaml_edits._is_same(parse_document(rewrite_yaml(ANCHORED_TEXT, target)).data, target)


@pytest.mark.parametrize("style", ["indented", "flat", "flow", "json", "json, indented", "anchored"])
@settings(max_examples=tiers.count(30, 750), deadline=None)
@given(before=DOCUMENTS, after=DOCUMENTS)
@example(before={"x": "1e3"}, after={"x": "1e3"})  # PyYAML writes this text as it would a number of go-yaml
def test_the_text_says_what_it_was_told_to(style: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    text = write_in_style(before, style)
    changed_text = rewrite_yaml(text, after)
    assert yaml_edits._is_same(parse_document(changed_text).data, after)
    if yaml_edits._is_same(parse_document(text).data, after):
        assert changed_text == text


@settings(max_examples=tiers.count(33, 1000), deadline=None)
@given(before=DOCUMENTS, value=VALUES, data=st.data())
def test_whole_line_comments_outside_the_changed_value_survive(
    before: dict[str, Any], value: Any, data: st.DataObject
) -> None:
    lines = yaml_edits._dump_yaml(before, 2).splitlines()
    quoted = any(
        line.count('"') % 2 or line.count("'") % 2 or line.rstrip().endswith(("|", ">", "|-")) for line in lines
    )
    if quoted:
        return
    text = "".join(f"# comment {index};\n{line}\n" for index, line in enumerate(lines))
    key = data.draw(st.sampled_from(sorted(before)))
    changed_text = rewrite_yaml(text, before | {key: value})
    spans = [index for index, line in enumerate(lines) if line.startswith(f"{key}:")]
    first = spans[0]
    last = next((index for index in range(first + 1, len(lines)) if lines[index][0] not in " -"), len(lines))
    for index in range(len(lines)):
        if index <= first or index >= last:
            assert f"# comment {index};\n" in changed_text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c\n", "not YAML"),
        ("a: 1\n---\nb: 2\n", "second document"),
        ("[" * 60 + "]" * 60, "deeper"),
        ("a: \x07\n", "not"),
        ("? [a]\n: 1\n", "key must be plain"),
        ("x" * 1_100_000, "1 MiB"),
        ("a: [\n", "not YAML"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(MarkedDocumentError) as caught:
        parse_document(text)
    assert message in caught.value.problem.message
    assert caught.value.problem.line >= 1
