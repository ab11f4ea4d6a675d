"""``node``: why a node of the person's own cluster is as full as it is; without a server."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.commands.sentences import add_assumptions, format_assumptions
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.local import add_local_options, answering, load_cluster
from kschedweb.cli.reading.progress import StepWriter
from kschedweb.cli.session import CliSession
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.amounts import format_amount
from kschedweb.engine.studies.capacity.node_report import NodeReport, PlaceVerdict, PodPlace, report_node

DESCRIPTION = """\
Why a node is as full as it is: who requests how much, why each pod is there and whether it could leave, and which
pending pods the node refuses. The cluster is read by your kubectl, with your rights."""
NODES = ("node", "nodes", "no")
# Pods that are listed, and pending ones of each reason.
PODS, NAMES = 20, 3
PLACES = {
    PlaceVerdict.BEST: "best by {margin} points ({plugin})",
    PlaceVerdict.TIED: "tied with {rival}",
    PlaceVerdict.ONLY: "the only node that fits",
    PlaceVerdict.BEATEN: "{rival} is better now by {behind} points ({plugin})",
    PlaceVerdict.REFUSED: "would be refused now: {message}",
    PlaceVerdict.STATIC: "static pod of the kubelet",
    PlaceVerdict.FOREIGN: "placed by another scheduler",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("node", metavar="NODE", help="its name, or node/NAME")
    add_local_options(parser, namespace_help="whose pods are read where you may not list all")
    parser.add_argument("--no-places", action="store_true", help="without why each pod is there, which takes longest")


def run(options: argparse.Namespace, session: CliSession) -> int:
    kind, slash, name = options.node.rpartition("/")
    if slash and kind not in NODES:
        raise CommandError(f"{options.node}: must be a node, such as worker-1 or node/worker-1")
    progress = StepWriter()

    def choose_pods(pods: list[Json]) -> list[Json]:
        specs = ((raw, (raw.get("spec") or {}).get("nodeName")) for raw in pods)
        return [raw for raw, node in specs if node in (None, "", name)]

    with answering():
        cluster = load_cluster(options, choose_pods, progress, namespace=options.namespace)
        if name not in cluster.snapshot.index:
            raise CommandError(f"there is no node {name}")
        report = report_node(
            cluster.snapshot,
            cluster.scheduler.configuration,
            name,
            places=not options.no_places,
            pulse=lambda: progress.step(f"Judging the pods of {name}"),
        )
    progress.clear()
    style = output.Style(session.environment)
    text = format_report(report, style) + format_assumptions(cluster, style)
    output.write_answer(options.output, add_assumptions(report.to_dict(), cluster), text)
    return Exit.OK


def format_report(report: NodeReport, style: output.Style) -> str:
    """Return the headline, the resources, the pods and the refused ones as text."""
    fullest = report.fullest
    share = f"{fullest.requested_percent:.0f} % of its {_name_resource(fullest.resource)} is requested"
    cordoned = ", and it is cordoned" if report.cordoned else ""
    lines = [style.title(output.escape_unprintable(f"{report.name}: {share}{cordoned}.")), ""]
    rows = [
        (
            level.resource,
            format_amount(level.requested, level.resource),
            format_amount(level.allocatable, level.resource),
            f"{level.requested_percent:.0f} %",
            format_amount(level.free, level.resource),
        )
        for level in report.resources
    ]
    text = "\n".join(lines) + "\n" + output.format_table(("RESOURCE", "REQUESTED", "OF", "SHARE", "FREE"), rows)
    text += "\n" + _format_pods(report)
    return text + _format_refused(report, style)


def _name_resource(resource: str) -> str:
    return "CPU" if resource == "cpu" else resource


def _format_pods(report: NodeReport) -> str:
    resource = report.fullest.resource
    rows = [
        (
            pod.pod,
            format_amount(pod.requests.get(resource, 1 if resource == "pods" else 0), resource),
            "" if pod.place is None else _describe_place(pod.place),
            "" if pod.place is None else _describe_exit(pod.place),
        )
        for pod in report.pods[:PODS]
    ]
    more = len(report.pods) - PODS
    table = output.format_table(("POD", resource.upper(), "WHY HERE", "COULD LEAVE"), rows)
    return table + (f"and {more:,} more\n" if more > 0 else "")


def _describe_place(place: PodPlace) -> str:
    margin = place.margin or 0
    words = {"margin": margin, "behind": -margin, "plugin": place.plugin, "rival": place.rival}
    return PLACES.get(place.verdict, "{message}").format(**words, message=place.message)


def _describe_exit(place: PodPlace) -> str:
    if place.can_leave:
        return f"to {place.target}"
    return f"no: {place.obstacle}"


def _format_refused(report: NodeReport, style: output.Style) -> str:
    lines = []
    if report.refused:
        lines += ["", style.title("Pending pods that it refuses:")]
    for group in report.refused:
        names = ", ".join(group.pods[:NAMES])
        more = f" and {len(group.pods) - NAMES:,} more" if len(group.pods) > NAMES else ""
        lines.append(output.escape_unprintable(f"  {len(group.pods):>4,}  {group.message}: {names}{more}"))
    if report.fitting:
        names = ", ".join(report.fitting[:NAMES])
        more = f" and {len(report.fitting) - NAMES:,} more" if len(report.fitting) > NAMES else ""
        lines += ["", output.escape_unprintable(f"Pending pods that would fit: {names}{more}.")]
    return "\n".join(lines) + "\n" if lines else ""
