"""``approvals``: pods that wait for people."""

from __future__ import annotations

import argparse
from typing import Any

from kschedweb.cli import output
from kschedweb.cli.asked import Surroundings
from kschedweb.cli.exits import CommandError, Exit

MOST = 100
STATES = ("waiting", "approved", "binding", "bound", "denied", "expired", "failed", "superseded")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=(*STATES, "any"), default="waiting", help="of the list; waiting without it")
    parser.add_argument("--limit", type=int, default=MOST, metavar="N", help=f"of the list; {MOST} without it")
    parser.add_argument("--cluster", metavar="NAME", default="", help="of the list; all without it")
    parser.add_argument("-n", "--namespace", metavar="NAME", default="", help="of the list; all without it")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.add_parser("list", help="what waits now; the same without a verb")
    for verb, needed in (("approve", False), ("deny", True)):
        deciding = verbs.add_parser(verb, help=f"{verb} one")
        deciding.add_argument("request", metavar="ID", help="of the list, or the pod as namespace/name")
        deciding.add_argument("--reason", required=needed, default="", metavar="TEXT", help="others read it")
    for one in verbs.choices.values():
        output.choose(one)


def run(options: argparse.Namespace, around: Surroundings) -> int:
    if options.verb in ("approve", "deny"):
        number = _found(around, options)
        found = around.server.post("approvals", number, options.verb, body={"reason": options.reason}).body
        output.write(options.output, found, _rows([found]))
        return Exit.DONE
    listed = around.server.listed(
        "approvals",
        most=options.limit,
        state="" if options.state == "any" else options.state,
        cluster=options.cluster,
        namespace=options.namespace,
    )
    output.write(options.output, listed, _rows(listed))
    return Exit.DONE


def _found(around: Surroundings, options: argparse.Namespace) -> str:
    """The id of the request; of a pod, that of the only one that waits for it. Raises CommandError."""
    if "/" not in options.request:
        return str(options.request)
    namespace, _, name = options.request.partition("/")
    asking = {"state": "waiting", "namespace": namespace, "search": name, "cluster": options.cluster}
    waiting = [one for one in around.server.listed("approvals", most=MOST, **asking) if one["name"] == name]
    if len(waiting) != 1:
        raise CommandError(f"{options.request}: {len(waiting)} requests wait for this pod: name one by its id")
    return str(waiting[0]["id"])


def _rows(listed: list[dict[str, Any]]) -> str:
    head = ("ID", "CLUSTER", "POD", "NODE", "STATE", "EXPIRES (UTC)", "WHY")
    return output.rows(
        head,
        [
            (
                one["id"],
                one["cluster"],
                f"{one['namespace']}/{one['name']}",
                one["node"],
                one["state"],
                output.moment(one["expires_at"]),
                one["reason"] or "; ".join(one["why"]),
            )
            for one in listed
        ],
    )
