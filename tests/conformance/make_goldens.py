"""Ask the real kube-scheduler again for every golden answer kept here.

    KUBEBUILDER_ASSETS=<folder with oracle> python tests/conformance/make_goldens.py [FOLDER]

reads the scenarios of the files in FOLDER (by default those kept here) and writes them back with today's answers.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

GOLDENS = Path(__file__).parent / "goldens"
FILES = {"explain.jsonl.gz": "explain", "schedule.jsonl.gz": "schedule"}


def read(path: Path) -> list[dict]:
    """The lines of a golden file: ``{"scenario": …, "expected": …}`` each."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def ask(mode: str, scenarios: list[dict]) -> list[dict]:
    """The real scheduler's answers, one a scenario."""
    oracle = Path(os.environ["KUBEBUILDER_ASSETS"]) / "oracle"
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    done = subprocess.run([oracle, mode], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def write(path: Path, scenarios: list[dict], answers: list[dict]) -> None:
    lines = [
        json.dumps({"scenario": scenario, "expected": answer}, separators=(",", ":"))
        for scenario, answer in zip(scenarios, answers, strict=True)
    ]
    # No time and no name in the header: the same answers make the same file.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(("\n".join(lines) + "\n").encode())


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else GOLDENS
    for name, mode in FILES.items():
        scenarios = [line["scenario"] for line in read(source / name)]
        write(GOLDENS / name, scenarios, ask(mode, scenarios))


if __name__ == "__main__":
    main()
