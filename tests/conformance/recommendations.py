"""Usage histories put to the recommender of the vertical pod autoscaler 1.8.1 and to the engine.

    VPA=$(tests/originals/build vpa) python -m tests.conformance.recommendations [--seed N] [--count N]

prints scenarios on which the two differ; ``--record`` alone writes the golden anew.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from kschedweb.engine.json_types import Json
from kschedweb.engine.rightsizing.scenario import recommend_scenario
from tests.conformance.hunt_options import hunt_options
from tests.conformance.making.histories import Histories

GOLDEN = Path(__file__).parent / "recorded" / "recommendations.jsonl.xz"
RECORDED, SCENARIO_COUNT = 37, 60  # the golden's seed, and how many scenarios of it
TIMEOUT = 300


def draw_scenarios(seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    return [Histories(Random(f"{seed}/{number}")).scenario(f"drawn-{seed}-{number}") for number in range(count)]


def reference(command: Path, scenarios: list[Json]) -> list[Json]:
    """The recommender's own answers."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    process = subprocess.run([command], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in process.stdout.splitlines()]


def differing(command: Path, scenarios: list[Json]) -> Iterator[tuple[Json, Json, Json]]:
    """The scenarios on which the two differ, with the engine's and the recommender's answer."""
    for scenario, theirs in zip(scenarios, reference(command, scenarios), strict=True):
        ours = recommend_scenario(scenario)
        if ours != theirs:
            yield scenario, ours, theirs


def goldens() -> list[tuple[Json, Json]]:
    """The kept scenarios, each with the recommender's answer."""
    with lzma.open(GOLDEN, "rt") as lines:
        return [(entry["scenario"], entry["answer"]) for entry in map(json.loads, lines)]


def recorded() -> list[tuple[Json, Json]]:
    """The recorded scenarios, each with the recommender's answer."""
    with lzma.open(GOLDEN.with_name("recommendations-by-kind.jsonl.xz"), "rt") as lines:
        return [(entry["scenario"], entry["answer"]) for entry in map(json.loads, lines)]


def record(command: Path) -> None:
    """Write the golden anew."""
    scenarios = draw_scenarios(RECORDED, SCENARIO_COUNT)
    with lzma.open(GOLDEN, "wt") as lines:
        for scenario, answer in zip(scenarios, reference(command, scenarios), strict=True):
            lines.write(json.dumps({"scenario": scenario, "answer": answer}, sort_keys=True) + "\n")


def main() -> None:
    command = Path(os.environ["VPA"])
    if "--record" in sys.argv:
        record(command)
        return
    options = hunt_options(["drawn"])
    differences = list(differing(command, draw_scenarios(options.seed, options.count)))
    print(f"{len(differences)} of {options.count} differ (seed {options.seed})")
    for scenario, ours, theirs in differences[: options.most]:
        print(json.dumps(scenario), f"engine    {json.dumps(ours)}", f"reference {json.dumps(theirs)}", sep="\n")


if __name__ == "__main__":
    main()
