"""Answers of kube-scheduler to the scenarios of changes between releases, recorded from their oracles.

python -m tests.conformance.changes FOLDER … takes a folder for each release that is to be recorded, which has its
oracle and is named after its version, and writes recorded/changes.jsonl: the answers of other releases stay.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES, cli_validate
from kschedweb.engine.releases.changes import CHANGES, release_before
from kschedweb.engine.releases.changes.change import ReleaseChange
from tests.conformance.reference import engine_answer

GOLDENS = Path(__file__).with_name("recorded") / "changes.jsonl"


def scenario_changes() -> list[tuple[ReleaseChange, str]]:
    """Every change that has a scenario, with the releases that are asked about it.

    Earlier ones do not know the kind DeviceTaintRule in v1. Of the changes since 1.38 only the release before is asked.
    """
    pairs = [(change, release) for change in CHANGES if change.scenario is not None for release in RELEASES]
    pairs = [(change, release) for change, release in pairs if change.name != "taint-rules" or release >= change.since]
    return [
        (change, release) for change, release in pairs if change.since < "1.38" or release >= release_before(change)
    ]


def engine(change: ReleaseChange, release: str) -> Json:
    """The engine's answer, in the form of ``original``."""
    if change.is_of_configuration:
        validation = cli_validate(json.dumps(_config(change)), RELEASES[release])
        return _validated(validation)
    scenario = {**(change.scenario or {}), "name": change.name, "release": release}
    return {mode: engine_answer(mode, scenario) for mode in ("explain", "condition")}


def original(change: ReleaseChange, oracle: Path) -> Json:
    """The answer of the kube-scheduler in ``oracle``."""
    if change.is_of_configuration:
        return _validated(_ask(oracle, "validate", _config(change)))
    scenario = {**(change.scenario or {}), "name": change.name}
    return {mode: _ask(oracle, mode, scenario) for mode in ("explain", "condition")}


def _config(change: ReleaseChange) -> Json:
    config: Json = (change.scenario or {})["config"]
    return config


def _validated(validation: Json) -> Json:
    return {
        "valid": validation["valid"],
        "errors": validation.get("errors") or [],
        "defaulted": validation.get("defaulted"),
    }


def _ask(oracle: Path, mode: str, question: Json) -> Json:
    text = json.dumps(question) + "\n"
    process = subprocess.run([oracle, mode], input=text, capture_output=True, text=True, timeout=120)
    answer: Json = json.loads(process.stdout)  # validate exits with 1 where the configuration is not valid
    return answer


def main(folders: list[str]) -> None:
    recorded = map(json.loads, GOLDENS.read_text(encoding="utf-8").splitlines())
    line_by_pair = {(row["change"], row["release"]): json.dumps(row, sort_keys=True) for row in recorded}
    for folder in map(Path, folders):
        match = re.search(r"v(1\.\d+)\.", folder.name)
        if match is None:
            raise SystemExit(f"{folder}: is not named after a version")
        for change, release in scenario_changes():
            if release == match[1]:
                row = {"change": change.name, "release": release, "expected": original(change, folder / "oracle")}
                line_by_pair[change.name, release] = json.dumps(row, sort_keys=True)
    GOLDENS.write_text("".join(line + "\n" for line in sorted(line_by_pair.values())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
