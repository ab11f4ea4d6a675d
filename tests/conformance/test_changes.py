"""The scenarios of changes between releases are answered as all four kube-schedulers answered them."""

from __future__ import annotations

import json

import pytest

from kschedweb.engine.releases.changes.change import ReleaseChange
from tests.conformance.changes import GOLDENS, engine, original, scenario_changes
from tests.conformance.reference import Reference

RECORDED = {
    (row["change"], row["release"]): row["expected"]
    for row in map(json.loads, GOLDENS.read_text(encoding="utf-8").splitlines())
}


def test_each_scenario_is_recorded_from_each_release() -> None:
    assert set(RECORDED) == {(change.name, release) for change, release in scenario_changes()}


@pytest.mark.parametrize(
    ("change", "release"), [pytest.param(*pair, id=f"{pair[0].name}-{pair[1]}") for pair in scenario_changes()]
)
def test_the_engine_says_what_was_recorded(change: ReleaseChange, release: str) -> None:
    assert engine(change, release) == RECORDED[change.name, release]


def test_the_record_is_what_the_oracle_says(reference: Reference) -> None:
    """Of the release that is there."""
    for change, name in scenario_changes():
        if name == reference.release.name:
            assert original(change, reference.command) == RECORDED[change.name, name], change.name
