"""Configurations whose answer by kube-scheduler 1.36.3 is recorded: the same verdict, words and defaults."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from kschedweb.engine.releases import RELEASES, cli_validate, load
from tests.conformance.batches import judge_each

RELEASE = RELEASES["1.36"]  # which answered
BEFORE_V1 = '{"apiVersion":"kubescheduler.config.k8s.io/v1beta3","kind":"KubeSchedulerConfiguration"}'
GOLDENS = Path(__file__).parents[2] / "conformance" / "recorded"


def recorded(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CONFIGURATIONS = recorded(GOLDENS / "configurations.jsonl.gz")
DOCUMENTS = recorded(GOLDENS / "documents.jsonl.gz")


def without_warnings(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out what kube-scheduler does not say; errors over several extension points come in any order there."""
    comparable = {name: value for name, value in answer.items() if name not in ("warnings", "converted")}
    return comparable | ({"errors": sorted(comparable["errors"])} if "errors" in comparable else {})


@judge_each(lambda: [(golden["name"], golden) for golden in CONFIGURATIONS])
def test_a_recorded_configuration_is_answered_as_kube_scheduler_does(golden: dict[str, Any]) -> None:
    assert without_warnings(cli_validate(json.dumps(golden["config"]), RELEASE)) == without_warnings(golden["expected"])

    loaded = load(golden["config"], RELEASE)
    assert loaded.valid is golden["expected"]["valid"]
    assert loaded.errors == golden["expected"].get("errors", [])
    assert loaded.defaulted == golden["expected"].get("defaulted")


def test_every_recorded_text_is_answered_as_kube_scheduler_does() -> None:
    differing = {
        golden["text"]: (golden["expected"], answer)
        for golden in DOCUMENTS
        if (answer := without_warnings(cli_validate(golden["text"], RELEASE))) != without_warnings(golden["expected"])
    }
    assert differing == {}
    assert len(DOCUMENTS) > 500


def test_a_version_before_v1_is_refused_as_by_kube_scheduler_and_what_it_becomes_is_offered() -> None:
    recorded = next(golden["expected"] for golden in DOCUMENTS if golden["text"] == BEFORE_V1)
    answer = cli_validate(BEFORE_V1, RELEASE)
    assert (answer["valid"], answer["errors"]) == (False, recorded["errors"])
    assert cli_validate(json.dumps(answer["converted"]["document"]), RELEASE)["valid"]
    assert "becomes v1" in answer["warnings"][0]
    assert load(BEFORE_V1, RELEASE).valid  # pages go on reading it


def test_a_defaulted_configuration_is_valid_and_its_own_default() -> None:
    """A configuration's download, which has all defaults, means the same to kube-scheduler as the original."""
    checked = 0
    for golden in [*CONFIGURATIONS, *DOCUMENTS]:
        loaded = load(golden["config"] if "config" in golden else golden["text"] or None, RELEASE)
        if loaded.configuration is None:
            continue
        reloaded = load(loaded.configuration.document, RELEASE)
        assert reloaded.defaulted == loaded.defaulted
        assert reloaded.configuration == loaded.configuration
        checked += 1
    assert checked > 150


def test_every_error_is_found_among_its_problems() -> None:
    for golden in DOCUMENTS:
        loaded = load(golden["text"] or None, RELEASE)
        all_errors = "\n".join(loaded.errors)
        assert all(problem.text in all_errors for problem in loaded.problems)
        assert bool(loaded.problems) is bool(loaded.errors) is not loaded.valid
