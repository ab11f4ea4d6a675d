"""Verdicts as JSON, JUnit XML and Markdown: whole, escaped, and bounded."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.gate.gate import DEFAULTS, GatePolicy, GateQuestion, compute_verdict, prepared_of
from kschedweb.engine.studies.gate.rendering import (
    FORMATS,
    LONGEST,
    MOST_LISTED,
    render_junit,
    render_markdown,
    render_verdict,
)
from kschedweb.engine.studies.gate.thresholds import read_thresholds
from tests.engine.studies.gates import PACKED, cluster

# Of every element of the JUnit schema that readers share: its attributes that must be there, and those that may.
JUNIT: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": (set(), {"name", "tests", "failures", "errors", "skipped", "disabled", "time"}),
    "testsuite": ({"name", "tests"}, {"failures", "errors", "skipped", "time", "timestamp", "hostname", "id"}),
    "properties": (set(), set()),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname"}, {"time", "status"}),
    "failure": (set(), {"message", "type"}),
    "system-out": (set(), set()),
}
INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out"},
    "properties": {"property"},
    "testcase": {"failure"},
}
NASTY = '<b>|`*_"&amp;]]>\x00\x07\ud800\n@team #12 ![x](y) ~~z~~ \\'


def plain(**changes: Any) -> Json:
    """A verdict with a check that passes and one that fails."""
    question = GateQuestion(
        GatePolicy("policy.yaml", PACKED),
        GatePolicy(DEFAULTS),
        read_thresholds({"maxMoved": 0, "maxPending": 0}),
        "cluster.json",
    )
    return compute_verdict(prepared_of(cluster()), question).to_dict() | changes


def check(**changes: Any) -> Json:
    pod = {"pod": "a/b", "before": "n1", "after": "", "plugin": "P", "lead": None, "said": "no room"}
    base = {"name": "moved", "label": "Moved pods", "passed": False, "value": 1.0, "baseline": None, "unit": "pods"}
    return {**base, "limits": {"max": 0.0}, "sentence": "1 pod goes.", "pods": [pod], "more": 0} | changes


def valid(text: str) -> ElementTree.Element:
    """The root of what every reader of JUnit takes."""
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    for element in root.iter():
        must, may = JUNIT[element.tag]
        assert must <= set(element.keys()) <= must | may
        assert {inner.tag for inner in element} <= INSIDE.get(element.tag, set())
    for suite in [root, *root]:
        cases = list(suite.iter("testcase"))
        assert int(suite.get("tests", "")) == len(cases)
        assert int(suite.get("failures", "")) == sum(case.find("failure") is not None for case in cases)
    return root


def unescape(text: str) -> str:
    """The page that Markdown becomes, as pull requests show it: tables, struck text and links by themselves too."""
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def test_json_is_the_verdict_itself() -> None:
    assert json.loads(render_verdict(plain(), "json")) == plain()


def test_junit_has_a_case_for_each_check_and_names_the_pods_of_those_that_fail() -> None:
    verdict = plain()
    root = valid(render_junit(verdict))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases) == [check_json["label"] for check_json in verdict["checks"]]
    failure = cases["Moved pods"].find("failure")
    assert failure is not None
    moved = verdict["checks"][1]
    assert failure.get("message") == moved["sentence"]
    assert failure.text is not None
    assert failure.text.splitlines() == [
        moved["sentence"],
        *(f"{p['pod']}: {p['before']} -> {p['after']}; {p['plugin']} by {p['lead']} points" for p in moved["pods"]),
    ]
    properties = {prop.get("name"): prop.get("value") for prop in root.iter("property")}
    assert (properties["policy"], properties["seed"]) == ("policy.yaml", "1")


def test_markdown_is_a_verdict_a_table_and_folded_pods() -> None:
    text = render_markdown(plain())
    assert text.startswith("## ❌ Scheduling policy fails\n")
    assert "**policy.yaml** against kube-scheduler's defaults, on cluster.json: 6 pods on 4 nodes." in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[0].count("|") == rows[1].count("|")
    assert "| ❌ **fail** | Moved pods |" in text
    assert "<details><summary>Moved pods: " in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert "Moved pods by the plugin that moved them: NodeResourcesFit" in text
    passed = render_markdown(plain(verdict="pass", checks=[check(passed=True, pods=[])]))
    assert passed.startswith("## ✅ Scheduling policy passes\n")
    assert "<details>" not in passed


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_that_a_cluster_says_breaks_out(form: str) -> None:
    pod = {"pod": NASTY, "before": NASTY, "after": NASTY, "plugin": NASTY, "lead": 3, "said": NASTY}
    bad = check(name=NASTY, label=NASTY, sentence=NASTY, unit=NASTY, pods=[pod])
    text = render_verdict(
        plain(checks=[bad], policy=NASTY, about=NASTY, notes=[NASTY], counts={"byPlugin": {NASTY: 2}}), form
    )
    if form == "json":
        assert json.loads(text)["policy"] == NASTY
    elif form == "junit":
        root = valid(text.encode("utf-8").decode())
        assert "\x00" not in text
        assert "<b>|`*_" in (root.findtext(".//failure") or "")
    else:
        page = unescape(text)
        tags = set(re.findall(r"<(\w+)", page))
        assert tags == {
            "h2",
            "p",
            "strong",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "details",
            "summary",
            "ul",
            "li",
            "sub",
        }
        assert all(row.count("<td") in (4, 5) for row in page.split("<tr>")[1:] if "<td" in row)
        assert "@team" not in html.unescape(page)
        visible_text = html.unescape(re.sub(r"<[^>]+>", "", page)).replace("\u200b", "")
        assert visible_text.count('<b>|`*_"&amp;]]>\ufffd\ufffd\ufffd @team #12 ![x](y) ~~z~~ \\') == 13


@given(st.text(max_size=80))
def test_any_text_is_well_formed_xml_and_one_line_of_markdown(text: str) -> None:
    verdict = plain_of(text)
    assert valid(render_junit(verdict)).find(".//failure") is not None
    table = [line for line in render_markdown(verdict).splitlines() if line.startswith("| ❌")]
    assert len(table) == 1


_plain: list[Json] = []


def plain_of(text: str) -> Json:
    if not _plain:
        _plain.append(plain())
    return _plain[0] | {"checks": [check(sentence=text, label=text)], "policy": text, "notes": [text]}


def test_markdown_fits_a_comment_however_much_there_is_to_say() -> None:
    pod = {"pod": "n" * 500, "before": "b" * 500, "after": "a" * 500, "plugin": "P", "lead": 1, "said": "s" * 5000}
    long = check(pods=[pod] * 50, more=9_950, sentence="s" * 5000)
    text = render_markdown(plain(checks=[long], notes=["n" * 5000] * 50))
    assert len(text) < 65_536
    assert text.count("n" * (LONGEST - 1) + "…") == 2 * MOST_LISTED
    assert f"and {10_000 - MOST_LISTED:,} further pods." in text


def test_junit_says_how_many_pods_it_does_not_name() -> None:
    failure = valid(render_junit(plain(checks=[check(more=7)]))).findtext(".//failure") or ""
    assert failure.splitlines()[-2:] == ["a/b: n1 -> no node; P; no room", "and 7 further pods"]
