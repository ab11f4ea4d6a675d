"""Answers about pods as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedweb.cli.local import LocalCluster
from kschedweb.cli.output import Style, escape_unprintable, format_table
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.fixes.answers import PodAnswer
from kschedweb.engine.studies.fixes.changes import Fix
from kschedweb.engine.studies.fixes.devices import DeviceChain, LinkState

# Plugins whose scores are shown.
SCORERS = 4
MARKS = {LinkState.PRESENT: "ok", LinkState.MISSING: "missing", LinkState.UNKNOWN: "?"}


def format_answer(answer: PodAnswer, style: Style) -> str:
    """Return the sentence, causes, nearest miss, fixes, and scores of the best nodes."""
    lines = [style.title(escape_unprintable(f"{answer.sentence}."))]
    if answer.causes and not answer.node:
        lines += ["", *format_causes(answer)]
    if answer.nearest:
        lines += ["", f"Nearest miss: {escape_unprintable(answer.nearest)}."]
    lines += format_fixes(answer.fixes, style)
    for chain in answer.chains:
        lines += ["", *_format_chain(chain, style)]
    if answer.best:
        lines += ["", *_format_best(answer).rstrip("\n").split("\n")]
    return "\n".join(lines) + "\n"


def format_causes(answer: PodAnswer) -> list[str]:
    """Return a line for each cause, with its number of nodes."""
    return [
        f"  {cause.nodes:>6,}  {'node' if cause.nodes == 1 else 'nodes'} {escape_unprintable(cause.phrase)}"
        for cause in answer.causes
    ]


def format_fixes(fixes: Sequence[Fix], style: Style, indent: str = "") -> list[str]:
    """Return the fixes with their commands, the smallest first."""
    if not fixes:
        return []
    lines = ["", f"{indent}{style.good('What helps')} (tried by the engine, smallest change first):"]
    for number, fix in enumerate(fixes, 1):
        lines.append(f"{indent}  {number}. {escape_unprintable(fix.sentence)}")
        for change in fix.changes:
            kind, namespace, name = change.target
            place = f"{kind} {f'{namespace}/' if namespace else ''}{name}"
            if change.path:
                lines.append(style.quiet(escape_unprintable(f"{indent}     {place}: {change.path}")))
            if change.command:
                lines.append(style.quiet(escape_unprintable(f"{indent}     $ {change.command}")))
    return lines


def _format_chain(chain: DeviceChain, style: Style) -> Iterator[str]:
    family = f" ({chain.family})" if chain.family else ""
    yield f"No node offers {escape_unprintable(chain.resource)}{family}. What makes it, and what the cluster shows:"
    for link in chain.links:
        mark = f"{MARKS[link.state]:<8}"
        colored = style.bad(mark) if link.state == LinkState.MISSING else style.good(mark)
        yield f"  {colored}{link.name}: {escape_unprintable(link.sentence)}"


def _format_best(answer: PodAnswer) -> str:
    totals: dict[str, int] = {}
    for _, _, scores in answer.best:
        for plugin, score in scores.items():
            totals[plugin] = totals.get(plugin, 0) + score
    plugins = sorted(totals, key=lambda plugin: (-totals[plugin], plugin))[:SCORERS]
    rows = [
        (node, f"{total:,}", *(f"{scores.get(plugin, 0):,}" for plugin in plugins))
        for node, total, scores in answer.best
    ]
    return format_table(("NODE", "SCORE", *plugins), rows)


def format_assumptions(cluster: LocalCluster, style: Style) -> str:
    """Return the lines about what was assumed, and what is not known."""
    lines = [f"Answered as {cluster.assumption}.", *(f"Note: {gap}." for gap in cluster.gaps)]
    return "\n" + "".join(style.quiet(escape_unprintable(line)) + "\n" for line in lines)


def add_assumptions(answer: Json, cluster: LocalCluster) -> Json:
    """Return ``answer`` for programs, with what was assumed."""
    return {**answer, "assumed": cluster.assumption, "gaps": list(cluster.gaps)}
