"""``gate``: whether a policy may ship."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from kschedweb.cli import output
from kschedweb.cli.asked import Surroundings, content, is_file, named, patience, place, until
from kschedweb.cli.exits import CommandError, Exit
from kschedweb.engine.documents.files import ReadError, text_of
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.gate import command, rendering

DESCRIPTION = """\
Places the pods of a cluster under a policy and under a baseline, compares, and judges by thresholds: of files alone
(--snapshot, --scenario), or of a cluster that the site knows (--cluster), where policies are files or the names of
saved ones (name, name@revision). The exit status is 0 where all thresholds are kept, 1 where one is not."""
REPORT = "the verdict as a file too: .json, .xml (JUnit) or .md (Markdown); may be repeated"
ONLY_FILES = ("release", "baseline_release", "feature_gates", "baseline_feature_gates", "file", "snapshot", "prices")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    command.ask(parser)
    place(parser)
    parser.add_argument("--report", action="append", default=[], metavar="FILE", help=REPORT)
    patience(parser)


def run(options: argparse.Namespace, around: Surroundings) -> int:
    try:
        forms = [(Path(file), command.form_of(file, None, "--report")) for file in options.report]
        found = judged(options, around)
        for file, form in forms:
            command.write(file, rendering.render(found, form))
    except DocumentError as error:
        raise CommandError(command.said(error)) from None
    output.write(options.output, found, table(found))
    return Exit.DONE if found["verdict"] == "pass" else Exit.NO


def judged(options: argparse.Namespace, around: Surroundings) -> dict[str, Any]:
    """The verdict, by the engine here where files say it all, else by the site. Raises CommandError, DocumentError."""
    if options.snapshot or options.scenario:
        if options.cluster:
            raise CommandError("--cluster: goes without --snapshot and --scenario")
        return _here(options)
    cluster = around.cluster(options)
    for name in ONLY_FILES:
        if getattr(options, name):
            raise CommandError(f"--{name.replace('_', '-')}: goes with --snapshot or --scenario")
    body: dict[str, Any] = {
        "policy": _policy(options.policy),
        "snapshot": {"cluster": cluster},
        "thresholds": command.asked_thresholds(options),
        "seed": options.seed,
    }
    if options.baseline:
        body["baseline"] = _policy(options.baseline)
    if options.place:
        body["place"] = options.place
    return ask(around, body, options.wait)


def _here(options: argparse.Namespace) -> dict[str, Any]:
    # Amounts wrap around without a word, as they do in kube-scheduler.
    with np.errstate(over="ignore"):
        return dict(command.judged(options).to_dict())


def ask(around: Surroundings, body: dict[str, Any], wait: float) -> dict[str, Any]:
    """What the site's gate answers to ``body``, once it has."""
    answer = around.server.post("gate", body=body)
    if answer.status != 202:
        return dict(answer.body)
    number = str(answer.body["id"])

    def look() -> Any:
        found = around.server.get("gate", number)
        return found.body if found.status == 200 else None

    return dict(until(look, wait))


def table(found: dict[str, Any]) -> str:
    head = output.pairs(
        [
            ("Verdict", found["verdict"]),
            ("Summary", found["summary"]),
            ("Policy", found["policy"]),
            ("Baseline", found["baseline"]),
            ("Cluster", found["about"]),
        ]
    )
    checks = [
        ("pass" if one["passed"] else "FAIL", one["label"], output.number(one["value"]), _limits(one), one["sentence"])
        for one in found["checks"]
    ]
    return head + "\n" + output.rows(("CHECK", "OF", "VALUE", "LIMIT", "SENTENCE"), checks)


def _limits(check: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in check["limits"].items())


def _policy(text: str) -> dict[str, Any]:
    if not is_file(text):
        return named(text)
    try:
        return {"document": text_of(content(text)), "label": Path(text).name}
    except ReadError as error:
        raise CommandError(f"{text}: {error}") from None
