"""``runs``: scenarios that were played under policies."""

from __future__ import annotations

import argparse
from typing import Any

from kschedweb.cli import output
from kschedweb.cli.exits import Exit
from kschedweb.cli.session import CliSession, add_wait_option, wait_for_result
from kschedweb.engine.json_types import Json

ENDED = ("succeeded", "failed", "cancelled")
DEFAULT_LIMIT = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", type=int, default=DEFAULT_LIMIT, metavar="N", help=f"of the list; {DEFAULT_LIMIT} without it"
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.add_parser("list", help="the newest runs; the same without a verb")
    show_parser = verbs.add_parser("show", help="one run with its measures")
    show_parser.add_argument("id", metavar="ID")
    starting = verbs.add_parser("start", help="play a scenario under a policy, and wait for its end")
    starting.add_argument("--scenario", metavar="ID", required=True)
    starting.add_argument("--policy", metavar="NAME", required=True, help="a saved policy: name or name@revision")
    starting.add_argument("--seed", type=int, default=1, metavar="N")
    add_wait_option(starting)
    for verb_parser in verbs.choices.values():
        output.add_output_option(verb_parser)


def run(options: argparse.Namespace, session: CliSession) -> int:
    if options.verb in (None, "list"):
        return _list_runs(options, session)
    if options.verb == "show":
        run_detail = session.server.get("runs", options.id).body
    else:
        body = {"scenario": options.scenario, "policy": options.policy, "seed": options.seed}
        number = str(session.server.post("runs", "start", body=body).body["id"])

        def poll() -> Any:
            now = session.server.get("runs", number).body
            return now if now["state"] in ENDED else None

        run_detail = wait_for_result(poll, options.wait)
    output.write_answer(options.output, run_detail, _format_run(run_detail))
    return Exit.NO if run_detail["state"] in ("failed", "cancelled") else Exit.OK


def _list_runs(options: argparse.Namespace, session: CliSession) -> int:
    runs = session.server.get_list("runs", max_results=options.limit)
    lines = [
        (
            run_entry["id"],
            run_entry["policy"],
            run_entry["seed"],
            run_entry["state"],
            run_entry["created_by"],
            output.format_time(run_entry["created_at"]),
        )
        for run_entry in runs
    ]
    output.write_answer(
        options.output, runs, output.format_table(("ID", "POLICY", "SEED", "STATE", "BY", "CREATED (UTC)"), lines)
    )
    return Exit.OK


def _format_run(run_detail: Json) -> str:
    head = [("Run", run_detail["id"]), ("Scenario", f"{run_detail['scenario']}, revision {run_detail['revision']}")]
    head += [("Policy", run_detail["policy"]), ("Seed", run_detail["seed"]), ("State", run_detail["state"])]
    head += [("Note", text) for text in run_detail.get("notes") or []]
    lines = [
        (measure["name"], output.format_number(measure["value"]), measure["unit"])
        for measure in run_detail.get("measures") or []
    ]
    return output.format_pairs(head) + (
        "\n" + output.format_table(("MEASURE", "VALUE", "UNIT"), lines) if lines else ""
    )
