"""``approvals``: pods that wait for people."""

from __future__ import annotations

import argparse

from kschedweb.cli import output
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import CliSession
from kschedweb.engine.json_types import Json

MAX_APPROVALS = 100
STATES = ("waiting", "approved", "binding", "bound", "denied", "expired", "failed", "superseded")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=(*STATES, "any"), default="waiting", help="of the list; waiting without it")
    parser.add_argument(
        "--limit", type=int, default=MAX_APPROVALS, metavar="N", help=f"of the list; {MAX_APPROVALS} without it"
    )
    parser.add_argument("--cluster", metavar="NAME", default="", help="of the list; all without it")
    parser.add_argument("-n", "--namespace", metavar="NAME", default="", help="of the list; all without it")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.add_parser("list", help="what waits now; the same without a verb")
    for verb, needed in (("approve", False), ("deny", True)):
        decision_parser = verbs.add_parser(verb, help=f"{verb} one")
        decision_parser.add_argument("request", metavar="ID", help="of the list, or the pod as namespace/name")
        decision_parser.add_argument("--reason", required=needed, default="", metavar="TEXT", help="others read it")
    for verb_parser in verbs.choices.values():
        output.add_output_option(verb_parser)


def run(options: argparse.Namespace, session: CliSession) -> int:
    if options.verb in ("approve", "deny"):
        number = _find_request_id(session, options)
        approval = session.server.post("approvals", number, options.verb, body={"reason": options.reason}).body
        output.write_answer(options.output, approval, _format_rows([approval]))
        return Exit.OK
    listed = session.server.get_list(
        "approvals",
        max_results=options.limit,
        state="" if options.state == "any" else options.state,
        cluster=options.cluster,
        namespace=options.namespace,
    )
    output.write_answer(options.output, listed, _format_rows(listed))
    return Exit.OK


def _find_request_id(session: CliSession, options: argparse.Namespace) -> str:
    """Return the id of the request; for a pod, that of its only waiting request. Raise CommandError."""
    if "/" not in options.request:
        return str(options.request)
    namespace, _, name = options.request.partition("/")
    filters = {"state": "waiting", "namespace": namespace, "search": name, "cluster": options.cluster}
    waiting = [
        approval
        for approval in session.server.get_list("approvals", max_results=MAX_APPROVALS, **filters)
        if approval["name"] == name
    ]
    if len(waiting) != 1:
        raise CommandError(f"{options.request}: {len(waiting)} requests wait for this pod: name one by its id")
    return str(waiting[0]["id"])


def _format_rows(listed: list[Json]) -> str:
    head = ("ID", "CLUSTER", "POD", "NODE", "STATE", "EXPIRES (UTC)", "WHY")
    return output.format_table(
        head,
        [
            (
                approval["id"],
                approval["cluster"],
                f"{approval['namespace']}/{approval['name']}",
                approval["node"],
                approval["state"],
                output.format_time(approval["expires_at"]),
                approval["reason"] or "; ".join(approval["why"]),
            )
            for approval in listed
        ],
    )
