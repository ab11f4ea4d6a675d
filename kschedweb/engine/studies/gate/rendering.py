"""Render a verdict as JSON, JUnit XML or Markdown, from ``GateVerdict.to_dict()``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.gate.verdict import PASS, format_amount, format_count

FORMATS = ("json", "junit", "markdown")
# Pods and notes in Markdown: a comment on a pull request takes some 65,000 characters.
MOST_LISTED = 20
# Characters of one message in Markdown.
LONGEST = 300
# Characters that XML 1.0 does not allow in any form.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Characters with a meaning in Markdown or HTML, or that mention people and issues.
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@&!])")


def render_verdict(verdict: Json, form: str) -> str:
    """Return ``verdict`` in one of FORMATS, with a line end."""
    return {"json": as_json, "junit": render_junit, "markdown": render_markdown}[form](verdict)


def as_json(verdict: Json) -> str:
    return json.dumps(verdict, indent=2) + "\n"


# JUnit.


def render_junit(verdict: Json) -> str:
    """Return JUnit XML: each check is a test case of one suite; a failed check is a failure with its pods."""
    checks = verdict["checks"]
    failed = sum(not check["passed"] for check in checks)
    numbers = f'tests="{len(checks)}" failures="{failed}" errors="0" skipped="0"'
    properties = {name: verdict[name] for name in ("policy", "baseline", "about", "engine", "seed")}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="kschedweb gate" {numbers}>']
    lines.append(f"  <testsuite name={_quote_attribute('kschedweb gate: ' + verdict['policy'])} {numbers}>")
    lines.append("    <properties>")
    lines += [
        f"      <property name={_quote_attribute(name)} value={_quote_attribute(value)}/>"
        for name, value in properties.items()
    ]
    lines.append("    </properties>")
    for check in checks:
        lines += _render_case(check)
    remarks = [verdict["summary"], *verdict["warnings"], *verdict["notes"]]
    lines.append(f"    <system-out>{_escape_xml(chr(10).join(remarks))}</system-out>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _render_case(check: Json) -> Iterator[str]:
    head = f'    <testcase classname="kschedweb.gate" name={_quote_attribute(check["label"])}'
    if check["passed"]:
        yield f"{head}/>"
        return
    yield f"{head}>"
    text = "\n".join(
        [check["sentence"], *(_describe_pod(pod) for pod in check["pods"]), *_describe_rest(check, len(check["pods"]))]
    )
    message, kind = _quote_attribute(check["sentence"]), _quote_attribute(check["name"])
    yield f"      <failure message={message} type={kind}>{_escape_xml(text)}</failure>"
    yield "    </testcase>"


def _describe_pod(pod: Json) -> str:
    text = f"{pod['pod']}: {pod['before'] or 'no node'} -> {pod['after'] or 'no node'}"
    return text + "".join(f"; {part}" for part in _list_reasons(pod))


def _list_reasons(pod: Json) -> Iterator[str]:
    if pod["plugin"]:
        yield pod["plugin"] + ("" if pod["lead"] is None else f" by {pod['lead']:,} points")
    if pod["said"]:
        yield pod["said"]


def _describe_rest(check: Json, listed: int) -> list[str]:
    remaining = len(check["pods"]) - listed + check["more"]
    return [f"and {format_count(remaining, 'further pod')}"] if remaining else []


def _escape_xml(value: object) -> str:
    return escape(FORBIDDEN.sub("\ufffd", str(value)))


def _quote_attribute(value: object) -> str:
    return quoteattr(FORBIDDEN.sub("\ufffd", str(value)), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


# Markdown.


def render_markdown(verdict: Json) -> str:
    """Return a heading with the verdict, a table of the checks, and the pods of each folded below it."""
    passed = verdict["verdict"] == PASS
    lines = [f"## {'✅ Scheduling policy passes' if passed else '❌ Scheduling policy fails'}", ""]
    pods = f"{format_count(verdict['pods'], 'pod').lower()} on {format_count(verdict['nodes'], 'node')}"
    policy, baseline, cluster = (_escape_markdown(verdict[name]) for name in ("policy", "baseline", "about"))
    lines += [f"**{policy}** against {baseline}, on {cluster}: {pods}.", "", *_render_table(verdict["checks"])]
    for check in verdict["checks"]:
        if check["pods"]:
            lines += _render_pods(check)
    lines += _by_plugin(verdict["counts"])
    lines += _render_upgrade(verdict.get("upgrade"))
    for title, listed in (("Warnings", verdict["warnings"]), ("Notes", verdict["notes"])):
        lines += _render_list(title, listed)
    return "\n".join([*lines, "", f"<sub>{_escape_markdown(verdict['engine'])}, seed {verdict['seed']}</sub>", ""])


def _render_table(checks: list[Json]) -> Iterator[str]:
    yield "| | Check | Value | Baseline | What it says |"
    yield "|---|---|---:|---:|---|"
    for check in checks:
        value, baseline = (_format_value(check[name], check["unit"]) for name in ("value", "baseline"))
        mark = "✅ pass" if check["passed"] else "❌ **fail**"
        label, sentence = _escape_markdown(check["label"]), _escape_markdown(check["sentence"])
        yield f"| {mark} | {label} | {value} | {baseline} | {sentence} |"


def _format_value(value: float | None, unit: str) -> str:
    return "–" if value is None else format_amount(value, _escape_markdown(unit))


def _render_pods(check: Json) -> Iterator[str]:
    listed = check["pods"][:MOST_LISTED]
    whole = len(check["pods"]) + check["more"]
    yield from ("", f"<details><summary>{_inside_html(check['label'])}: {whole:,}</summary>", "")
    yield "| Pod | Baseline | Policy | Why |"
    yield "|---|---|---|---|"
    for pod in listed:
        why = "; ".join(_list_reasons(pod))
        before, after = (_escape_markdown(pod[name] or "no node") for name in ("before", "after"))
        yield f"| {_escape_markdown(pod['pod'])} | {before} | {after} | {_escape_markdown(why)} |"
    yield ""
    yield from (f"{line}." for line in _describe_rest(check, len(listed)))
    yield from ("", "</details>")


def _by_plugin(counts: Json) -> Iterator[str]:
    moved = counts.get("byPlugin") or {}
    if moved:
        plugin_counts = ", ".join(
            f"{_escape_markdown(name or 'no plugin')} {number:,}" for name, number in moved.items()
        )
        yield from ("", f"Moved pods by the plugin that moved them: {plugin_counts}.")


def _render_upgrade(report: Json | None) -> Iterator[str]:
    """Yield the numbers of messages, fields and gates that another release changes, and the explanations."""
    if report is None:
        return
    yield from ("", f"### From {_escape_markdown(report['from'])} to {_escape_markdown(report['to'])}", "")
    messages = sum(message["count"] for message in report["messages"])
    gates = sum(bool(gate["changes"]) for gate in report["gates"])
    counts = (
        format_count(messages, "message"),
        format_count(len(report["fields"]), "field"),
        format_count(gates, "feature gate"),
    )
    yield f"What changes beside nodes: {', '.join(counts)}."
    yield ""
    yield from (
        f"- **{_escape_markdown(change['title'])}** ({change['since']}). {_escape_markdown(change['sentence'])}"
        for change in report["changes"]
    )


def _render_list(title: str, listed: list[str]) -> Iterator[str]:
    if listed:
        yield from ("", f"<details><summary>{title}: {len(listed)}</summary>", "")
        yield from (f"- {_escape_markdown(line)}" for line in listed[:MOST_LISTED])
        yield from ("", "</details>")


def _escape_markdown(value: object) -> str:
    """Return text on one line, escaped for Markdown and without mentions of people."""
    # A zero-width space after "@" keeps GitHub from notifying somebody of that name.
    return SPECIAL.sub(r"\\\1", _shorten(value)).replace("\\@", "@\u200b")


def _inside_html(value: object) -> str:
    """Return text on one line, escaped for HTML inside Markdown."""
    return escape(_shorten(value)).replace("@", "@\u200b")


def _shorten(value: object) -> str:
    text = " ".join(FORBIDDEN.sub("\ufffd", str(value)).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
