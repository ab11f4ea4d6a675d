"""A verdict as JSON, JUnit XML or Markdown, each made from ``GateVerdict.to_dict()``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from kschedweb.engine.objects.access import Json
from kschedweb.engine.studies.gate.verdict import PASS, amount, counted

FORMATS = ("json", "junit", "markdown")
MOST_LISTED = 20  # pods and notes, in Markdown: a comment on a pull request takes some 65,000 characters
LONGEST = 300  # characters of one message in Markdown
# Characters that XML 1.0 does not allow in any form.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~@&!])")


def render(verdict: Json, form: str) -> str:
    """``verdict`` as one of FORMATS, ending in a line end."""
    return {"json": as_json, "junit": junit, "markdown": markdown}[form](verdict)


def as_json(verdict: Json) -> str:
    return json.dumps(verdict, indent=2) + "\n"


# JUnit.


def junit(verdict: Json) -> str:
    """JUnit XML: each check is a test case of one suite; a failed check is a failure with its pods."""
    checks = verdict["checks"]
    failed = sum(not check["passed"] for check in checks)
    numbers = f'tests="{len(checks)}" failures="{failed}" errors="0" skipped="0"'
    about = {name: verdict[name] for name in ("policy", "baseline", "about", "engine", "seed")}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="kschedweb gate" {numbers}>']
    lines.append(f"  <testsuite name={_quoted('kschedweb gate: ' + verdict['policy'])} {numbers}>")
    lines.append("    <properties>")
    lines += [f"      <property name={_quoted(name)} value={_quoted(value)}/>" for name, value in about.items()]
    lines.append("    </properties>")
    for check in checks:
        lines += _case(check)
    said = [verdict["summary"], *verdict["warnings"], *verdict["notes"]]
    lines.append(f"    <system-out>{_escaped(chr(10).join(said))}</system-out>")
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _case(check: Json) -> Iterator[str]:
    head = f'    <testcase classname="kschedweb.gate" name={_quoted(check["label"])}'
    if check["passed"]:
        yield f"{head}/>"
        return
    yield f"{head}>"
    text = "\n".join([check["sentence"], *(_told(pod) for pod in check["pods"]), *_more(check, len(check["pods"]))])
    message, kind = _quoted(check["sentence"]), _quoted(check["name"])
    yield f"      <failure message={message} type={kind}>{_escaped(text)}</failure>"
    yield "    </testcase>"


def _told(pod: Json) -> str:
    said = f"{pod['pod']}: {pod['before'] or 'no node'} -> {pod['after'] or 'no node'}"
    return said + "".join(f"; {part}" for part in _why(pod))


def _why(pod: Json) -> Iterator[str]:
    if pod["plugin"]:
        yield pod["plugin"] + ("" if pod["lead"] is None else f" by {pod['lead']:,} points")
    if pod["said"]:
        yield pod["said"]


def _more(check: Json, listed: int) -> list[str]:
    rest = len(check["pods"]) - listed + check["more"]
    return [f"and {counted(rest, 'further pod')}"] if rest else []


def _escaped(value: object) -> str:
    return escape(FORBIDDEN.sub("\ufffd", str(value)))


def _quoted(value: object) -> str:
    return quoteattr(FORBIDDEN.sub("\ufffd", str(value)), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


# Markdown.


def markdown(verdict: Json) -> str:
    """A heading with the verdict, a table of the checks, and the pods of each folded below it."""
    passed = verdict["verdict"] == PASS
    lines = [f"## {'✅ Scheduling policy passes' if passed else '❌ Scheduling policy fails'}", ""]
    pods = f"{counted(verdict['pods'], 'pod').lower()} on {counted(verdict['nodes'], 'node')}"
    policy, baseline, about = (_plain(verdict[name]) for name in ("policy", "baseline", "about"))
    lines += [f"**{policy}** against {baseline}, on {about}: {pods}.", "", *_table(verdict["checks"])]
    for check in verdict["checks"]:
        if check["pods"]:
            lines += _pods(check)
    lines += _by_plugin(verdict["counts"])
    lines += _upgrade(verdict.get("upgrade"))
    for title, listed in (("Warnings", verdict["warnings"]), ("Notes", verdict["notes"])):
        lines += _listed(title, listed)
    return "\n".join([*lines, "", f"<sub>{_plain(verdict['engine'])}, seed {verdict['seed']}</sub>", ""])


def _table(checks: list[Json]) -> Iterator[str]:
    yield "| | Check | Value | Baseline | What it says |"
    yield "|---|---|---:|---:|---|"
    for check in checks:
        value, baseline = (_value(check[name], check["unit"]) for name in ("value", "baseline"))
        mark = "✅ pass" if check["passed"] else "❌ **fail**"
        yield f"| {mark} | {_plain(check['label'])} | {value} | {baseline} | {_plain(check['sentence'])} |"


def _value(value: float | None, unit: str) -> str:
    return "–" if value is None else amount(value, _plain(unit))


def _pods(check: Json) -> Iterator[str]:
    listed = check["pods"][:MOST_LISTED]
    whole = len(check["pods"]) + check["more"]
    yield from ("", f"<details><summary>{_inside_html(check['label'])}: {whole:,}</summary>", "")
    yield "| Pod | Baseline | Policy | Why |"
    yield "|---|---|---|---|"
    for pod in listed:
        why = "; ".join(_why(pod))
        before, after = (_plain(pod[name] or "no node") for name in ("before", "after"))
        yield f"| {_plain(pod['pod'])} | {before} | {after} | {_plain(why)} |"
    yield ""
    yield from (f"{line}." for line in _more(check, len(listed)))
    yield from ("", "</details>")


def _by_plugin(counts: Json) -> Iterator[str]:
    moved = counts.get("byPlugin") or {}
    if moved:
        told = ", ".join(f"{_plain(name or 'no plugin')} {number:,}" for name, number in moved.items())
        yield from ("", f"Moved pods by the plugin that moved them: {told}.")


def _upgrade(report: Json | None) -> Iterator[str]:
    """The messages, fields and gates that another release changes, and what explains them."""
    if report is None:
        return
    yield from ("", f"### From {_plain(report['from'])} to {_plain(report['to'])}", "")
    messages = sum(one["count"] for one in report["messages"])
    gates = sum(bool(one["changes"]) for one in report["gates"])
    told = (counted(messages, "message"), counted(len(report["fields"]), "field"), counted(gates, "feature gate"))
    yield f"What changes beside nodes: {', '.join(told)}."
    yield ""
    yield from (
        f"- **{_plain(one['title'])}** ({one['since']}). {_plain(one['sentence'])}" for one in report["changes"]
    )


def _listed(title: str, listed: list[str]) -> Iterator[str]:
    if listed:
        yield from ("", f"<details><summary>{title}: {len(listed)}</summary>", "")
        yield from (f"- {_plain(one)}" for one in listed[:MOST_LISTED])
        yield from ("", "</details>")


def _plain(value: object) -> str:
    """Text on one line, escaped for Markdown and without mentions of people."""
    return SPECIAL.sub(r"\\\1", _short(value)).replace("\\@", "@\u200b")


def _inside_html(value: object) -> str:
    """Text on one line, escaped for HTML inside Markdown."""
    return escape(_short(value)).replace("@", "@\u200b")


def _short(value: object) -> str:
    text = " ".join(FORBIDDEN.sub("\ufffd", str(value)).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
