"""``compare``: what policies make of the same cluster or scenario."""

from __future__ import annotations

import argparse
from typing import Any

from kschedweb.cli import output
from kschedweb.cli.asked import Surroundings, patience, place, until
from kschedweb.cli.commands import gate
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.gate import command

DESCRIPTION = """\
The first policy is the reference. Two of them on a cluster (--cluster) or a dump of one (--snapshot, which needs no
server): each pod is placed under both. Two or more on a scenario of the site (--scenario): each is played, with every
seed. The exit status is 1 where a run failed."""
SUCCEEDED, ENDED = "succeeded", ("succeeded", "failed", "cancelled")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("policies", nargs="+", metavar="POLICY", help="name or name@revision; with a dump: a file")
    place(parser)
    parser.add_argument(
        "--snapshot", metavar="FILE", default="", help="the cluster, as kubectl get … -o json writes it"
    )
    parser.add_argument("--scenario", metavar="ID", default="", help="of a scenario of the site")
    parser.add_argument("--seed", type=int, action="append", default=[], metavar="N", help="may be repeated")
    patience(parser)


def run(options: argparse.Namespace, around: Surroundings) -> int:
    if len(options.policies) < 2:
        raise CommandError("name at least two policies")
    if options.scenario:
        if options.snapshot or options.cluster:
            raise CommandError("--scenario: goes without --snapshot and --cluster")
        return _played(options, around)
    if len(options.policies) > 2 or len(options.seed) > 1:
        raise CommandError("three policies and several seeds need a --scenario")
    found = placed(options, around)
    output.write(options.output, found, _table_of_two(found))
    return Exit.DONE


def placed(options: argparse.Namespace, around: Surroundings) -> dict[str, Any]:
    """The gate's answer without a threshold, which has every measure of both."""
    asked = argparse.ArgumentParser()
    command.ask(asked)
    gate.place(asked)
    gate.patience(asked)
    first, second = options.policies
    said = ["--policy", second, "--baseline", first, "--max-newly-unschedulable", "any", "--max-moved", "any"]
    said += ["--seed", str(options.seed[0])] if options.seed else []
    said += ["--snapshot", options.snapshot] if options.snapshot else []
    question = asked.parse_args(said)
    question.cluster, question.context, question.wait = options.cluster, options.context, options.wait
    try:
        return gate.judged(question, around)
    except DocumentError as error:
        raise CommandError(command.said(error)) from None


def _played(options: argparse.Namespace, around: Surroundings) -> int:
    found = started(around, options.scenario, options.policies, options.seed or [1], options.wait)
    output.write(options.output, found, _table_of_runs(found))
    return Exit.DONE if all(run["state"] == SUCCEEDED for run in found["runs"]) else Exit.NO


def started(around: Surroundings, scenario: str, policies: list[str], seeds: list[int], wait: float) -> dict[str, Any]:
    """The comparison, once all its runs have ended."""
    body = {"scenario": scenario, "policies": policies, "seeds": seeds}
    number = str(around.server.post("comparisons", "start", body=body).body["id"])

    def look() -> Any:
        found = around.server.get("comparisons", number).body
        return found if all(run["state"] in ENDED for run in found["runs"]) else None

    return dict(until(look, wait))


def _table_of_two(found: dict[str, Any]) -> str:
    lines = [
        (one["label"], output.number(one["baseline"]), output.number(one["policy"]), one["unit"])
        for one in found["measures"]
    ]
    head = [("Reference", found["baseline"]), ("Policy", found["policy"]), ("Cluster", found["about"])]
    head += [("Moved pods", output.number(found["counts"]["moved"]))]
    return output.pairs(head) + "\n" + output.rows(("MEASURE", "REFERENCE", "POLICY", "UNIT"), lines)


def _table_of_runs(found: dict[str, Any]) -> str:
    """Means over the seeds."""
    head = [("Comparison", found["id"]), ("Scenario", found["scenario"]), ("Answer", found["sentence"])]
    head += [
        ("Run failed", f"{run['policy']}, seed {run['seed']}") for run in found["runs"] if run["state"] != SUCCEEDED
    ]
    lines = [(one["name"], *map(_mean, one["values"]), one["unit"]) for one in found["measures"]]
    titles = [name.upper() for name in found["policies"]]
    return output.pairs(head) + "\n" + output.rows(("MEASURE", *titles, "UNIT"), lines)


def _mean(by_seed: dict[str, float]) -> str:
    return output.number(sum(by_seed.values()) / len(by_seed)) if by_seed else ""
