"""``clusters``: which clusters the site knows."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.asked import MOST_CLUSTERS, Surroundings
from kschedweb.cli.exits import Exit


def configure(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    output.choose(verbs.add_parser("list", help="all of them; the same without a verb"))
    shown = verbs.add_parser("show", help="one of them")
    shown.add_argument("name", metavar="NAME")
    output.choose(shown)


def run(options: argparse.Namespace, around: Surroundings) -> int:
    if options.verb == "show":
        found = around.server.get("clusters", options.name).body
        lines = [(name.replace("_", " ").capitalize(), found[name]) for name in ("name", "source", "server", "release")]
        lines += [(f"{kind} objects", output.number(number)) for kind, number in (found["counts"] or {}).items()]
        output.write(options.output, found, output.pairs([*lines, ("Taken (UTC)", output.moment(found["taken_at"]))]))
        return Exit.DONE
    listed = around.server.listed("clusters", most=MOST_CLUSTERS)
    rows = []
    for one in listed:
        nodes, pods = ((one["counts"] or {}).get(kind) for kind in ("Node", "Pod"))
        taken = output.moment(one["taken_at"])
        rows.append((one["name"], one["release"], output.number(nodes), output.number(pods), taken, one["server"]))
    head = ("NAME", "RELEASE", "NODES", "PODS", "TAKEN (UTC)", "SERVER")
    output.write(options.output, listed, output.rows(head, rows))
    return Exit.DONE
