"""The recorded answers of 1.37.2 and 1.38.0-beta.0 to probes, each made to show one difference: the engine's are the
same."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES, ReleaseError, cli_validate, get_release, read_gates
from tests.conformance import groups
from tests.conformance.hunting import same
from tests.conformance.reference import engine_answer

RECORDED = Path(__file__).parent / "recorded" / "releases" / "probes-1.38.jsonl.xz"
PROBES: list[Json] = [json.loads(line) for line in lzma.decompress(RECORDED.read_bytes()).decode().splitlines()]
PROBE_PARAMS = [
    pytest.param(probe, release.name, id=f"{probe['name']}-{release.name}")
    for probe in PROBES
    for release in RELEASES.values()
    if release.version in probe["expected"]
]


@pytest.mark.parametrize(("probe", "release"), PROBE_PARAMS)
def test_a_probe_is_answered_as_the_release_did(probe: Json, release: str) -> None:
    expected = probe["expected"][RELEASES[release].version]
    gates = read_gates(probe.get("gates", ""))
    if probe["ask"] == "validate":
        assert _validate(probe["config"], release, gates) == _comparable(expected)
        return
    scenario = {"featureGates": gates, **probe["scenario"], "release": release}
    if probe["ask"] == "groups":
        answer = groups.engine_answer(scenario)
        assert groups.same(answer, expected) or answer == expected
    else:
        answer = engine_answer(probe["ask"], scenario)
        assert same(scenario, answer, expected) or answer == expected


def _validate(config: Json, release: str, gates: dict[str, bool]) -> Json:
    try:
        return _comparable(cli_validate(json.dumps(config), get_release(release, gates)))
    except ReleaseError as error:
        return _comparable({"error": str(error).removeprefix("featureGates: ")})


def _comparable(answer: Json) -> Json:
    """The answer without warnings, which are the engine's own."""
    fields = ("valid", "error", "errors", "defaulted")
    return {name: answer[name] for name in fields if answer.get(name) not in (None, [])}
