"""Documents as text: limits, damage, and where a problem lies."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.config import default_document
from kschedweb.engine.releases import cli_validate, load
from kschedweb.engine.validation.golang import SECOND, duration_text, parse_duration

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_a_document_over_a_mebibyte_is_refused() -> None:
    loaded = load(HEAD + "#" * (1 << 20))
    assert loaded.errors == ["the document has more than 1048576 bytes"]


@pytest.mark.parametrize("brackets", ["[]", "{}"])
@pytest.mark.parametrize("depth", [60, 200_000])
def test_deep_nesting_is_refused_at_once(brackets: str, depth: int) -> None:
    before = time.perf_counter()
    for text in (brackets[0] * depth, '{"a":' + brackets[0] * depth, "a: " + "- " * depth, "? " * depth):
        loaded = load(text)
        assert not loaded.valid
        assert len(loaded.errors) == 1
    assert time.perf_counter() - before < 20
    assert load('{"a":' + "[" * 60 + "]" * 60 + "}").errors == ["the document nests deeper than 50 levels"]
    assert load("a: " + "[" * 60 + "]" * 60).errors == ["the document nests deeper than 50 levels"]


def test_an_alias_bomb_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    before = time.perf_counter()
    loaded = load("\n".join(lines))
    assert loaded.errors == ["yaml: document contains excessive aliasing"]
    assert time.perf_counter() - before < 20


@pytest.mark.parametrize(
    "text",
    [
        '{"' + '\\"' * 400_000,
        "- a\n" * 250_000,
        "a:\n" + "  b: c\n" * 100_000,
        "a: " + "[1," * 300_000,
        "? a\n" * 250_000,
    ],
    ids=["quotes", "list", "repetition", "brackets", "keys"],
)
def test_large_nonsense_is_refused_in_time(text: str) -> None:
    before = time.perf_counter()
    loaded = load(text)
    assert loaded.errors
    assert time.perf_counter() - before < 20


def test_a_message_repeats_a_document_only_so_far() -> None:
    assert len(load("a: " + "x" * 100_000).errors[0]) < 2100


def test_an_alias_may_be_used_as_kube_scheduler_allows() -> None:
    text = HEAD + "clientConnection: &c {burst: 7}\nextenders:\n- &e {urlPrefix: x, filterVerb: f}\n- *e\n"
    loaded = load(text)
    assert loaded.valid
    assert loaded.defaulted is not None
    assert [extender["urlPrefix"] for extender in loaded.defaulted["extenders"]] == ["x", "x"]


def test_no_tag_constructs_anything() -> None:
    loaded = load(HEAD + "parallelism: !!python/object/apply:os.getcwd []\n")
    assert loaded.errors == [
        "json: cannot unmarshal array into Go struct field KubeSchedulerConfiguration.parallelism of type int32"
    ]


def test_bytes_that_are_no_text_are_refused() -> None:
    assert load(b"\xff\xfe").errors[0].startswith("the document is not UTF-8 text: byte 0")


def test_what_json_cannot_hold_is_refused() -> None:
    loaded = load({"apiVersion": object()})
    assert loaded.errors[0].startswith("the document cannot be written as JSON")


def test_no_text_is_an_error_but_stands_for_the_defaults_on_the_command_line() -> None:
    assert load("").errors == ["Object 'Kind' is missing in ''"]
    assert cli_validate("")["valid"]


def test_each_problem_knows_its_path_and_line() -> None:
    text = (
        HEAD
        + "profiles:\n"
        + "- schedulerName: a\n"
        + "  pluginn: {}\n"
        + "  pluginConfig:\n"
        + "  - name: NodeResourcesFit\n"
        + "    args:\n"
        + "      scoringStrategy:\n"
        + "        typ: MostAllocated\n"
    )
    loaded = load(text)
    assert [(problem.path, loaded.line(problem.path)) for problem in loaded.problems] == [
        ("profiles[0].pluginn", 5),
        ("profiles[0].pluginConfig[0].args.scoringStrategy.typ", 10),
    ]
    assert len(loaded.errors) == 1


def test_a_problem_of_a_plugin_points_into_the_document() -> None:
    args = "{ignoredResources: [a, b/c/d]}"
    loaded = load(f"{HEAD}profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {args}\n")
    assert [problem.path for problem in loaded.problems] == [
        "profiles[0].pluginConfig[0].args.ignoredResources[1]",
    ]
    assert loaded.line(loaded.problems[0].path) == 6


def test_a_problem_in_a_default_points_to_the_field_around_it() -> None:
    loaded = load(f"{HEAD}profiles:\n- schedulerName: a\n  plugins:\n    bind:\n      disabled: [{{name: '*'}}]\n")
    assert [problem.path for problem in loaded.problems] == ["profiles[0].plugins.bind"]
    assert loaded.line("profiles[0].plugins.bind") == 6
    assert loaded.line("profiles[0].plugins.bind.enabled[3].name") == 6
    assert loaded.line("nowhere") is None


def test_json_text_over_several_lines_has_lines_as_well() -> None:
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 0}
    loaded = load(json.dumps(document, indent=1))
    assert loaded.line(loaded.problems[0].path) == 4


@pytest.mark.parametrize("text", ["a: b: c", '{"a": ', "a:\n\t- b", "[1,"])
def test_a_syntax_error_has_a_line_where_the_reader_knows_it(text: str) -> None:
    loaded = load(text)
    assert loaded.line("") in (1, 2)


def test_a_duration_of_many_digits_is_refused_in_gos_words() -> None:
    for text in ("9" * 5_000 + "s", "9" * 20 + "h"):
        with pytest.raises(ValueError, match=r"^time: invalid duration"):
            parse_duration(text)
    assert parse_duration("0" * 5_000 + "1s") == SECOND


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    for document in (text, default_document() + text, "{" + text):
        loaded = load(document)
        assert loaded.valid is not bool(loaded.errors)


@given(st.integers(-(10**18), 10**18) | st.integers(-5 * SECOND, 5 * SECOND))
def test_a_duration_reads_back_as_it_was_written(nanoseconds: int) -> None:
    # Beyond 2**53 the fraction loses digits, as in Go; below it does not.
    text = duration_text(nanoseconds)
    assert parse_duration(text) == nanoseconds
