"""Ask the real kube-scheduler again for every golden answer kept here.

    KUBEBUILDER_ASSETS=<folder with oracle> python -m tests.conformance.record

reads what was asked from the files in recorded/ and writes them back with today's answers. Only what is kept of the
release that the oracle is, is asked again: a scenario's own, else ``RELEASE``. `--evictions N`, `--claims N` and
`--groups N` first make the scenarios of evictions.jsonl.xz, claims.jsonl.xz and groups.jsonl.gz anew, from seed N.
Groups are asked about where GANGS names what tests/originals/build gangs, or gangs-1.38, prints.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import subprocess
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.conformance.classic import ClassicReference
from tests.conformance.groups import FIRST, GOLDEN, Gangs
from tests.conformance.groups import draw_scenarios as draw_group_scenarios
from tests.conformance.hunting import KINDS, draw_scenarios
from tests.conformance.reference import Reference
from tests.engine.builders import CONFIGURATION
from tests.support import openb

GOLDENS = Path(__file__).parent / "recorded"
RELEASE = "1.36"
"""The release whose answers are kept, where a scenario names no other."""
SCENARIOS = {
    "explain.jsonl.xz": "explain",
    "schedule.jsonl.xz": "schedule",
    "evictions.jsonl.xz": "schedule",
    "claims.jsonl.xz": "",  # each line says what is asked
    "regressions.jsonl": "",
}
CONFIGURATIONS = ("configurations.jsonl.gz", "documents.jsonl.gz")
CLASSIC = "classic.jsonl.xz"
RECORDED = "openb.jsonl.xz"
DRAWN_COUNT = 60
OF_GROUPS = {"groups": 70, "domains": 55, "sampled": 5, "devices": 10, "sharing": 10, "busy": 20}
OF_GROUPS |= {"volumes": 20, "allocated": 15}
OF_TREES = {"trees": 60, "groups": 20, "domains": 15, "busy": 10, "devices": 5}  # of 1.38
TIMES = 4
PODS = 1000
RESOURCES = [{"name": name, "weight": weight} for name, weight in (("cpu", 1), ("memory", 1), (openb.GPU, 5))]
STRATEGY = {"scoringStrategy": {"type": "MostAllocated", "resources": RESOURCES}}
DEFAULT = {**CONFIGURATION, "parallelism": 1}  # with more the real scheduler's sample of nodes differs from run to run
PACKING = {
    **DEFAULT,
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [{"name": "NodeResourcesFit", "args": STRATEGY}],
        }
    ],
}
CONFIGURATIONS_OF_RECORDED = {"default": DEFAULT, "packing with GPUs weighed": PACKING}


def read(name: str) -> list[dict[str, Any]]:
    """The lines of a golden file: ``{"ask", "scenario", "expected"}`` each, or those of configurations."""
    return [parsed(name, line) for line in golden_lines(name)]


def golden_lines(name: str) -> list[str]:
    """The lines of a golden file as they are written."""
    return [line for line in _unpack(name, (GOLDENS / name).read_bytes()).decode().split("\n") if line]


def parsed(name: str, line: str) -> dict[str, Any]:
    """A line of the golden file ``name``."""
    parsed_line: dict[str, Any] = json.loads(line)
    return ({"ask": SCENARIOS[name]} | parsed_line) if name in SCENARIOS else parsed_line


def release_of_line(line: dict[str, Any]) -> str:
    """The release whose answer a golden scenario holds."""
    return str(line["scenario"].get("release") or RELEASE)


def write(name: str, lines: list[dict[str, Any]]) -> None:
    """No time is packed: the same answers make the same file."""
    text = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines)
    (GOLDENS / name).write_bytes(_pack(name, text.encode()))


def _pack(name: str, data: bytes) -> bytes:
    if name.endswith(".xz"):
        return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    return gzip.compress(data, mtime=0) if name.endswith(".gz") else data


def _unpack(name: str, data: bytes) -> bytes:
    if name.endswith(".xz"):
        return lzma.decompress(data)
    return gzip.decompress(data) if name.endswith(".gz") else data


def answer_scenarios(reference: Reference, name: str, lines: list[dict[str, Any]]) -> None:
    theirs = [line for line in lines if release_of_line(line) == reference.release.name]
    answered = [line for line in lines if release_of_line(line) != reference.release.name]
    for mode in ("explain", "schedule", "condition"):
        lines_of_mode = [line for line in theirs if line["ask"] == mode]
        answers = reference.answers(mode, [line["scenario"] for line in lines_of_mode])
        answered += [
            {"ask": mode, "scenario": line["scenario"], "expected": answer}
            for line, answer in zip(lines_of_mode, answers, strict=True)
        ]
    write(name, answered)


def answer_configurations(validate: Callable[[str], Any], name: str) -> None:
    lines = read(name)
    for line in lines:
        line["expected"] = validate(line["text"] if "text" in line else json.dumps(line["config"]))
    write(name, lines)


def answer_recorded(reference: Reference) -> None:
    """Record nodes for the first pods of the recorded cluster: their places in its table, -1 for nowhere."""
    nodes, pods = openb.nodes(), openb.pods(PODS)
    places = {node["metadata"]["name"]: place for place, node in enumerate(nodes)}
    lines = []
    for name, config in CONFIGURATIONS_OF_RECORDED.items():
        scenario = {"name": name, "config": config, "objects": nodes, "pending": pods}
        (answer,) = reference.answers("schedule", [scenario])
        placed = [places.get(placement.get("node", ""), -1) for placement in answer["placements"]]
        lines.append({"name": name, "config": config, "expected": placed})
    write(RECORDED, lines)


def answer_classic(reference: ClassicReference) -> None:
    """All in one process, where what a policy registers stays known."""
    scenarios = [line["scenario"] for line in read(CLASSIC)]
    answers = reference.answers(scenarios, part=len(scenarios))
    lines = zip(scenarios, answers, strict=True)
    write(CLASSIC, [{"scenario": scenario, "expected": answer} for scenario, (_, answer) in lines])


def answer_groups(gangs: Gangs, seed: int | None) -> None:
    """Those of one kind at once, by the program's release."""
    golden, kinds = GOLDEN[gangs.release], OF_GROUPS if gangs.release == FIRST else OF_TREES
    if seed is None:
        scenarios = [line["scenario"] for line in read(golden)]
    else:
        scenarios = [
            scenario
            for kind, count in kinds.items()
            for scenario in draw_group_scenarios(kind, seed, count, gangs.release)
        ]
    parts = [list(part) for _, part in groupby(scenarios, key=lambda scenario: str(scenario["featureGates"]))]
    answered = [
        (scenario, answers[0])
        for part in parts
        for scenario, *answers in zip(part, *(gangs.answers(part) for _ in range(TIMES)), strict=True)
        if all(answer == answers[0] for answer in answers)  # of others the order of Go's maps decides
    ]
    write(golden, [{"scenario": scenario, "expected": answer} for scenario, answer in answered])


def draw_lines(kind: str, seed: int, reference: Reference) -> list[dict[str, Any]]:
    scenarios = [reference.with_release(scenario) for scenario in draw_scenarios(kind, seed, DRAWN_COUNT)]
    return [{"ask": mode, "scenario": scenario} for mode in KINDS[kind].modes for scenario in scenarios]


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask the real scheduler again for every golden answer.")
    for kind in ("evictions", "claims", "groups"):
        parser.add_argument(f"--{kind}", type=int, metavar="SEED")
    options = parser.parse_args()
    assets = Path(os.environ["KUBEBUILDER_ASSETS"])

    def validate(text: str) -> Any:
        process = subprocess.run(
            [assets / "oracle", "validate"], input=text, capture_output=True, text=True, check=True
        )
        return json.loads(process.stdout)

    reference = Reference(assets)
    for name in SCENARIOS:
        kind = name.partition(".")[0]
        seed = getattr(options, kind, None)
        answer_scenarios(reference, name, read(name) if seed is None else draw_lines(kind, seed, reference))
    answer_classic(ClassicReference(assets))
    if "GANGS" in os.environ:
        answer_groups(Gangs(Path(os.environ["GANGS"])), options.groups)
    if reference.release.name == RELEASE:
        for name in CONFIGURATIONS:
            answer_configurations(validate, name)
        answer_recorded(reference)


if __name__ == "__main__":
    main()
