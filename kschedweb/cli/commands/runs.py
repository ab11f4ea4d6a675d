"""``runs``: scenarios that were played under policies."""

from __future__ import annotations

import argparse
from typing import Any

from kschedweb.cli import output
from kschedweb.cli.asked import Surroundings, patience, until
from kschedweb.cli.exits import Exit

ENDED = ("succeeded", "failed", "cancelled")
MOST = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=MOST, metavar="N", help=f"of the list; {MOST} without it")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB")
    verbs.add_parser("list", help="the newest runs; the same without a verb")
    shown = verbs.add_parser("show", help="one run with its measures")
    shown.add_argument("id", metavar="ID")
    starting = verbs.add_parser("start", help="play a scenario under a policy, and wait for its end")
    starting.add_argument("--scenario", metavar="ID", required=True)
    starting.add_argument("--policy", metavar="NAME", required=True, help="a saved policy: name or name@revision")
    starting.add_argument("--seed", type=int, default=1, metavar="N")
    patience(starting)
    for one in verbs.choices.values():
        output.choose(one)


def run(options: argparse.Namespace, around: Surroundings) -> int:
    if options.verb in (None, "list"):
        return _list(options, around)
    if options.verb == "show":
        found = around.server.get("runs", options.id).body
    else:
        body = {"scenario": options.scenario, "policy": options.policy, "seed": options.seed}
        number = str(around.server.post("runs", "start", body=body).body["id"])

        def look() -> Any:
            now = around.server.get("runs", number).body
            return now if now["state"] in ENDED else None

        found = until(look, options.wait)
    output.write(options.output, found, _table(found))
    return Exit.NO if found["state"] in ("failed", "cancelled") else Exit.DONE


def _list(options: argparse.Namespace, around: Surroundings) -> int:
    found = around.server.listed("runs", most=options.limit)
    lines = [
        (one["id"], one["policy"], one["seed"], one["state"], one["created_by"], output.moment(one["created_at"]))
        for one in found
    ]
    output.write(options.output, found, output.rows(("ID", "POLICY", "SEED", "STATE", "BY", "CREATED (UTC)"), lines))
    return Exit.DONE


def _table(found: dict[str, Any]) -> str:
    head = [("Run", found["id"]), ("Scenario", f"{found['scenario']}, revision {found['revision']}")]
    head += [("Policy", found["policy"]), ("Seed", found["seed"]), ("State", found["state"])]
    head += [("Note", text) for text in found.get("notes") or []]
    lines = [(one["name"], output.number(one["value"]), one["unit"]) for one in found.get("measures") or []]
    return output.pairs(head) + ("\n" + output.rows(("MEASURE", "VALUE", "UNIT"), lines) if lines else "")
