"""Answers of REST that the plugin of Headlamp is tested with have to be those of the site."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

from kschedweb.clusters.models import Snapshot
from tests.conftest import ROOT

pytestmark = pytest.mark.django_db

ANSWERS = ROOT / "deploy" / "headlamp" / "src" / "answers.json"
# Each address, and the properties that deploy/headlamp/src/site.ts declares.
DECISION = ("status", "scheduler", "approval", "bound_to", "chosen", "verdicts", "fixes", "total", "maximum")
REPORT = ("fullest", "resources", "refused", "fitting")
ADDRESSES: dict[str, tuple[str, ...]] = {
    "pods/analytics/cube-builder/decision/": DECISION,
    "pods/ml/notebook/decision/": DECISION,
    "pods/kube-system/kube-proxy-9lq6f/decision/": DECISION,
    "nodes/gpu-a-2/report/?places=false": REPORT,
}


def pick(answer: Any, names: tuple[str, ...]) -> Any:
    """Return what the plugin reads of an answer: of lists of nodes and pods the first few."""
    picked = {name: answer[name] for name in names if name in answer}
    for verdict in picked.get("verdicts", ()):
        verdict["nodes"] = verdict["nodes"][:3]
    for resource in picked.get("resources", ()):
        resource["pods"] = resource["pods"][:3]
    return picked


def test_recorded_answers_are_those_of_the_site(
    demo: Snapshot, api_as: Callable[[str], APIClient], tmp_path: Path
) -> None:
    client = api_as("viewer")
    answers = {}
    for address, names in ADDRESSES.items():
        answer = client.get(f"/api/v1/clusters/demo/{address}")
        assert answer.status_code == 200, answer.content
        answers[address] = pick(answer.json(), names)
    fresh = tmp_path / ANSWERS.name
    fresh.write_text(json.dumps(answers, indent=1) + "\n")
    assert json.loads(ANSWERS.read_text()) == answers, f"look at {fresh}, and copy it where it is right"
