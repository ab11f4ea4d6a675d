"""``compare``: what policies make of the same cluster or scenario."""

from __future__ import annotations

import argparse
from typing import Any

from kschedweb.cli import output
from kschedweb.cli.commands import gate
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import CliSession, add_cluster_options, add_wait_option, wait_for_result
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate import command

DESCRIPTION = """\
The first policy is the reference. Two of them on a cluster (--cluster) or a dump of one (--snapshot, which needs no
server): each pod is placed under both. Two or more on a scenario of the site (--scenario): each is played, with every
seed. The exit status is 1 where a run failed."""
SUCCEEDED, ENDED = "succeeded", ("succeeded", "failed", "cancelled")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("policies", nargs="+", metavar="POLICY", help="name or name@revision; with a dump: a file")
    add_cluster_options(parser)
    parser.add_argument(
        "--snapshot", metavar="FILE", default="", help="the cluster, as kubectl get … -o json writes it"
    )
    parser.add_argument("--scenario", metavar="ID", default="", help="of a scenario of the site")
    parser.add_argument("--seed", type=int, action="append", default=[], metavar="N", help="may be repeated")
    add_wait_option(parser)


def run(options: argparse.Namespace, session: CliSession) -> int:
    if len(options.policies) < 2:
        raise CommandError("name at least two policies")
    if options.scenario:
        if options.snapshot or options.cluster:
            raise CommandError("--scenario: goes without --snapshot and --cluster")
        return _compare_runs(options, session)
    if len(options.policies) > 2 or len(options.seed) > 1:
        raise CommandError("three policies and several seeds need a --scenario")
    answer = compare_placements(options, session)
    output.write_answer(options.output, answer, _table_of_two(answer))
    return Exit.OK


def compare_placements(options: argparse.Namespace, session: CliSession) -> Json:
    """Return the gate's answer without thresholds, which has every measure of both policies."""
    gate_parser = argparse.ArgumentParser()
    command.add_question_arguments(gate_parser)
    gate.add_cluster_options(gate_parser)
    gate.add_wait_option(gate_parser)
    first, second = options.policies
    arguments = ["--policy", second, "--baseline", first, "--max-newly-unschedulable", "any", "--max-moved", "any"]
    arguments += ["--seed", str(options.seed[0])] if options.seed else []
    arguments += ["--snapshot", options.snapshot] if options.snapshot else []
    question = gate_parser.parse_args(arguments)
    question.cluster, question.context, question.wait = options.cluster, options.context, options.wait
    try:
        return gate.judge_policy(question, session)
    except ScenarioError as error:
        raise CommandError(command.summarize_error(error)) from None


def _compare_runs(options: argparse.Namespace, session: CliSession) -> int:
    comparison = start_comparison(session, options.scenario, options.policies, options.seed or [1], options.wait)
    output.write_answer(options.output, comparison, _table_of_runs(comparison))
    return Exit.OK if all(run["state"] == SUCCEEDED for run in comparison["runs"]) else Exit.NO


def start_comparison(session: CliSession, scenario: str, policies: list[str], seeds: list[int], wait: float) -> Json:
    """Return the comparison once all its runs have ended."""
    body = {"scenario": scenario, "policies": policies, "seeds": seeds}
    number = str(session.server.post("comparisons", "start", body=body).body["id"])

    def poll() -> Any:
        comparison = session.server.get("comparisons", number).body
        return comparison if all(run["state"] in ENDED for run in comparison["runs"]) else None

    return dict(wait_for_result(poll, wait))


def _table_of_two(answer: Json) -> str:
    lines = [
        (
            measure["label"],
            output.format_number(measure["baseline"]),
            output.format_number(measure["policy"]),
            measure["unit"],
        )
        for measure in answer["measures"]
    ]
    head = [("Reference", answer["baseline"]), ("Policy", answer["policy"]), ("Cluster", answer["about"])]
    head += [("Moved pods", output.format_number(answer["counts"]["moved"]))]
    return output.format_pairs(head) + "\n" + output.format_table(("MEASURE", "REFERENCE", "POLICY", "UNIT"), lines)


def _table_of_runs(answer: Json) -> str:
    """Return a table of means over the seeds."""
    head = [("Comparison", answer["id"]), ("Scenario", answer["scenario"]), ("Answer", answer["sentence"])]
    head += [
        ("Run failed", f"{run['policy']}, seed {run['seed']}") for run in answer["runs"] if run["state"] != SUCCEEDED
    ]
    lines = [
        (measure["name"], *map(_format_mean, measure["values"]), measure["unit"]) for measure in answer["measures"]
    ]
    titles = [name.upper() for name in answer["policies"]]
    return output.format_pairs(head) + "\n" + output.format_table(("MEASURE", *titles, "UNIT"), lines)


def _format_mean(by_seed: dict[str, float]) -> str:
    return output.format_number(sum(by_seed.values()) / len(by_seed)) if by_seed else ""
