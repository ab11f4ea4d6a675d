"""Answers to the published cases of two krew plugins: docs/terminal.md has them beside those of the plugins."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kschedweb.cli.main import main
from kschedweb.engine.json_types import Json
from tests.cli.plugin_cases import CAN_SCHEDULE, WHY_PENDING, Case
from tests.conformance.reference import Reference
from tests.conftest import ROOT
from tests.engine.builders import CONFIGURATION

HEADS = {
    "why-pending": "| case | why-pending | kschedweb why |",
    "can-schedule": "| case | can-schedule | kschedweb fit |",
}


def ask(capsys: pytest.CaptureFixture[str], folder: Path, case: Case) -> Json:
    """Return what the command line answers to ``case``."""
    dump, manifest = folder / "cluster.json", folder / "manifest.json"
    dump.write_text(json.dumps({"kind": "List", "items": case.objects}))
    manifest.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": case.manifest}))
    question = ["fit", "-f", str(manifest)] if case.manifest else ["why", "demo"]
    main([*question, "--snapshot", str(dump), "-o", "json"])
    answer: Json = json.loads(capsys.readouterr().out)
    return answer


def tell_why(answer: Json) -> str:
    """Return the answer as a cell: the sentence without the pod, and the smallest change that helps."""
    cell = answer["sentence"].removeprefix("default/demo ") + "."
    missing = [chain["first_missing"] for chain in answer["devices"] if chain["first_missing"]]
    helps = [fix["sentence"] for fix in answer["fixes"]] or [f"First missing link: {name}." for name in missing]
    return " ".join([cell, *helps[:1]])


def tell_fit(answer: Json) -> str:
    """Return the answer as a cell: how many of each workload fit, and what would let one more run."""
    parts = []
    for workload in answer["workloads"]:
        fits, replicas = workload["fits"], workload["replicas"]
        parts.append(
            f"{min(fits, replicas)} of {replicas}" + (f", and {fits - replicas} more" if fits > replicas else "")
        )
    last = answer["workloads"][-1]
    fixes = last["next_pod"]["fixes"] if last["fits"] < last["replicas"] else []
    return "; ".join(parts) + "." + "".join(f" {fix['sentence']}" for fix in fixes[:1])


@pytest.mark.parametrize(
    ("name", "cases", "tell"), [("why-pending", WHY_PENDING, tell_why), ("can-schedule", CAN_SCHEDULE, tell_fit)]
)
def test_the_document_has_both_answers(
    name: str, cases: list[Case], tell: object, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert callable(tell)
    rows = [f"| {case.title} | {case.theirs} | {tell(ask(capsys, tmp_path, case))} |" for case in cases]
    document = (ROOT / "docs" / "terminal.md").read_text(encoding="utf-8")
    found = re.search(re.escape(HEADS[name]) + r"\n\|---\|---\|---\|\n((?:\|.*\n)+)", document)
    assert found is not None
    assert found[1].splitlines() == rows, "\n" + "\n".join(rows)


@pytest.mark.server
@pytest.mark.live
def test_the_real_scheduler_places_the_pods_that_fit_and_no_other(
    assets: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reference = Reference(assets)
    scenarios = [
        {"name": case.title, "config": CONFIGURATION, "objects": case.objects[1:], "pending": case.objects[:1]}
        for case in WHY_PENDING
    ]
    answers = reference.answers("schedule", scenarios)
    placed = [bool(answer["placements"][0].get("node")) for answer in answers]
    assert placed == [ask(capsys, tmp_path, case)["state"] == "fits" for case in WHY_PENDING]
    assert {True, False} == set(placed)
