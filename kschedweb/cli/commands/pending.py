"""``pending``: all pending pods of the person's own cluster by cause, each with its fixes; without a server."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.commands.sentences import add_assumptions, format_assumptions, format_fixes
from kschedweb.cli.exits import Exit
from kschedweb.cli.local import add_local_options, answering, load_cluster
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.session import CliSession
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.fixes.answers import PodState
from kschedweb.engine.studies.fixes.pending import PendingGroup, group_pending

DESCRIPTION = """\
All pending pods by what keeps them, the largest group first, each with what would let its first pod run. The cluster is
read by your kubectl, with your rights. The exit status is 1 where a pod finds no node."""
# Names of pods that are shown of each group.
NAMES = 4


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    add_local_options(parser, namespace_help="only its pods; all namespaces without it")
    parser.add_argument("--no-fixes", action="store_true", help="only the causes")


def run(options: argparse.Namespace, session: CliSession) -> int:
    progress = StepWriter()

    def choose_pending(pods: list[Json]) -> list[Json]:
        return [raw for raw in pods if _is_pending(raw, options.namespace)]

    with answering():
        cluster = load_cluster(options, choose_pending, progress, namespace=options.namespace)
        pods = [pod for pod in cluster.snapshot.pending if not options.namespace or pod.namespace == options.namespace]
        groups = group_pending(
            cluster.scheduler,
            pods,
            fixes=not options.no_fixes,
            on_progress=lambda number, total: progress.step(f"Deciding {number:,} of {total:,} kinds of pods"),
            read_queues=cluster.read_queues,
        )
    progress.clear()
    style = output.Style(session.environment)
    answer = {"pending": len(pods), "groups": [group.to_dict() for group in groups]}
    text = _format_groups(groups, len(pods), style) + format_assumptions(cluster, style)
    output.write_answer(options.output, add_assumptions(answer, cluster), text)
    return Exit.NO if any(group.answer.state in (PodState.STUCK, PodState.GATED) for group in groups) else Exit.OK


def _is_pending(raw: Json, namespace: str) -> bool:
    if (raw.get("spec") or {}).get("nodeName"):
        return False
    return not namespace or (raw.get("metadata") or {}).get("namespace") == namespace


def _format_groups(groups: list[PendingGroup], count: int, style: output.Style) -> str:
    if not groups:
        return style.good("No pod is pending.") + "\n"
    lines = [style.title(f"{count:,} pending {'pod' if count == 1 else 'pods'}, {len(groups):,} by cause:")]
    for group in groups:
        answer, number = group.answer, len(group.pods)
        names = ", ".join(group.pods[:NAMES]) + (f" and {number - NAMES:,} more" if number > NAMES else "")
        lines += ["", style.title(f"{number:,} × {_describe_cause(group)}"), f"  {output.escape_unprintable(names)}"]
        if answer.nearest:
            lines.append(f"  Nearest miss: {output.escape_unprintable(answer.nearest)}.")
        lines += format_fixes(answer.fixes, style, "  ")[1:]
        for chain in answer.chains:
            link = chain.broken_link
            text = f"the first link that is missing: {link.name}. {link.sentence}" if link else "no link is missing"
            lines.append(f"  No node offers {output.escape_unprintable(f'{chain.resource}; {text}')}")
    return "\n".join(lines) + "\n"


def _describe_cause(group: PendingGroup) -> str:
    answer = group.answer
    _, _, cause = answer.sentence.partition(f"{answer.pod} ")
    return output.escape_unprintable(cause)
