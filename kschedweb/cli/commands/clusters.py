"""``clusters``: which clusters the site knows."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.exits import Exit
from kschedweb.cli.session import MOST_CLUSTERS, CliSession


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    output.add_output_option(verbs.add_parser("list", help="all of them; the same without a verb"))
    show_parser = verbs.add_parser("show", help="one of them")
    show_parser.add_argument("name", metavar="NAME")
    output.add_output_option(show_parser)


def run(options: argparse.Namespace, session: CliSession) -> int:
    if options.verb == "show":
        cluster_detail = session.server.get("clusters", options.name).body
        lines = [
            (name.replace("_", " ").capitalize(), cluster_detail[name])
            for name in ("name", "source", "server", "release")
        ]
        lines += [
            (f"{kind} objects", output.format_number(number))
            for kind, number in (cluster_detail["counts"] or {}).items()
        ]
        output.write_answer(
            options.output,
            cluster_detail,
            output.format_pairs([*lines, ("Taken (UTC)", output.format_time(cluster_detail["taken_at"]))]),
        )
        return Exit.OK
    listed = session.server.get_list("clusters", max_results=MOST_CLUSTERS)
    rows = []
    for cluster in listed:
        nodes, pods = ((cluster["counts"] or {}).get(kind) for kind in ("Node", "Pod"))
        taken_at = output.format_time(cluster["taken_at"])
        rows.append(
            (
                cluster["name"],
                cluster["release"],
                output.format_number(nodes),
                output.format_number(pods),
                taken_at,
                cluster["server"],
            )
        )
    head = ("NAME", "RELEASE", "NODES", "PODS", "TAKEN (UTC)", "SERVER")
    output.write_answer(options.output, listed, output.format_table(head, rows))
    return Exit.OK
