"""``gate``: whether a policy may ship."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from kschedweb.cli import output
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.cli.session import (
    CliSession,
    add_cluster_options,
    add_wait_option,
    is_file,
    parse_policy_reference,
    read_file,
    wait_for_result,
)
from kschedweb.engine.documents.files import ReadError, text_of
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate import command, rendering

DESCRIPTION = """\
Places the pods of a cluster under a policy and under a baseline, compares, and judges by thresholds: of files alone
(--snapshot, --scenario), or of a cluster that the site knows (--cluster), where policies are files or the names of
saved ones (name, name@revision). The exit status is 0 where all thresholds are kept, 1 where one is not."""
REPORT = "the verdict as a file too: .json, .xml (JUnit) or .md (Markdown); may be repeated"
ONLY_FILES = ("release", "baseline_release", "feature_gates", "baseline_feature_gates", "file", "snapshot", "prices")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    command.add_question_arguments(parser)
    add_cluster_options(parser)
    parser.add_argument("--report", action="append", default=[], metavar="FILE", help=REPORT)
    add_wait_option(parser)


def run(options: argparse.Namespace, session: CliSession) -> int:
    try:
        forms = [(Path(file), command.form_of(file, None, "--report")) for file in options.report]
        verdict = judge_policy(options, session)
        for file, form in forms:
            command.write_report(file, rendering.render_verdict(verdict, form))
    except ScenarioError as error:
        raise CommandError(command.summarize_error(error)) from None
    output.write_answer(options.output, verdict, format_verdict(verdict))
    return Exit.OK if verdict["verdict"] == "pass" else Exit.NO


def judge_policy(options: argparse.Namespace, session: CliSession) -> Json:
    """Return the verdict: by the engine here if files are enough, else by the site.

    Raise CommandError, DocumentError.
    """
    if options.snapshot or options.scenario:
        if options.cluster:
            raise CommandError("--cluster: goes without --snapshot and --scenario")
        return _judge_files(options)
    cluster = session.resolve_cluster(options)
    for name in ONLY_FILES:
        if getattr(options, name):
            raise CommandError(f"--{name.replace('_', '-')}: goes with --snapshot or --scenario")
    body: Json = {
        "policy": _policy_to_json(options.policy),
        "snapshot": {"cluster": cluster},
        "thresholds": command.merge_thresholds(options),
        "seed": options.seed,
    }
    if options.baseline:
        body["baseline"] = _policy_to_json(options.baseline)
    if options.place:
        body["place"] = options.place
    return ask_server(session, body, options.wait)


def _judge_files(options: argparse.Namespace) -> Json:
    # Amounts wrap around silently, as int64 does in kube-scheduler.
    with np.errstate(over="ignore"):
        return dict(command.judge_policy(options).to_dict())


def ask_server(session: CliSession, body: Json, wait: float) -> Json:
    """Return the answer of the site's gate to ``body`` once it has one."""
    answer = session.server.post("gate", body=body)
    if answer.status != 202:
        return dict(answer.body)
    number = str(answer.body["id"])

    def poll() -> Any:
        response = session.server.get("gate", number)
        return response.body if response.status == 200 else None

    return dict(wait_for_result(poll, wait))


def format_verdict(verdict: Json) -> str:
    head = output.format_pairs(
        [
            ("Verdict", verdict["verdict"]),
            ("Summary", verdict["summary"]),
            ("Policy", verdict["policy"]),
            ("Baseline", verdict["baseline"]),
            ("Cluster", verdict["about"]),
        ]
    )
    checks = [
        (
            "pass" if check["passed"] else "FAIL",
            check["label"],
            output.format_number(check["value"]),
            _format_limits(check),
            check["sentence"],
        )
        for check in verdict["checks"]
    ]
    return head + "\n" + output.format_table(("CHECK", "OF", "VALUE", "LIMIT", "SENTENCE"), checks)


def _format_limits(check: Json) -> str:
    return ", ".join(f"{name} {value}" for name, value in check["limits"].items())


def _policy_to_json(text: str) -> Json:
    if not is_file(text):
        return parse_policy_reference(text)
    try:
        return {"document": text_of(read_file(text)), "label": Path(text).name}
    except ReadError as error:
        raise CommandError(f"{text}: {error}") from None
