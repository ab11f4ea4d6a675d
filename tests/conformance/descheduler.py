"""Descheduling cycles put to the descheduler 0.36.0 and to the engine.

    DESCHEDULER=<oracle-descheduler> python -m tests.conformance.descheduler [--seed N] [--count N]

prints scenarios on which the two differ. The program is built by oracles/build-fast in the folder of recorded data.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.cycle import run_cycle
from kschedweb.engine.rebalancing.loading import PolicyRefused, load_policy
from kschedweb.engine.rebalancing.scenario import DescribedCluster, run_scenario
from tests.conformance.hunt_options import hunt_options
from tests.conformance.making.descheduling import mix_scenarios

GOLDENS = Path(__file__).parent / "recorded"
SAME = ("error", "skipped", "pluginErrors", "classification", "notes")
CROSSED = re.compile(r"thresholds' \S+ (?=percentage is greater than targetThresholds')")
RUNS, MANY = 16, 128
TIMEOUT = 600


@cache
def recorded() -> list[Json]:
    """The recorded scenarios, each with the real descheduler's answer as ``expected``."""
    return _lines("descheduler.jsonl.xz")


@cache
def policies() -> list[Json]:
    """The recorded policies, each with what the real descheduler makes of it as ``expected``."""
    return _lines("descheduler-policies.jsonl.xz")


def engine_answer(scenario: Json, **orders: int) -> Json:
    """Return the engine's answer; each scenario sets its own time."""
    return run_scenario(scenario, _no_clock, **orders)


def validated(policy: Json) -> Json:
    """Return the engine's reading of a policy, in the form in which the descheduler's is recorded."""
    nodes = [{"kind": "Node", "metadata": {"name": name}} for name in ("a", "b")]
    try:
        loaded = load_policy(policy)
        run_cycle(loaded, DescribedCluster.from_json({"objects": nodes}).create_cluster(), 0.0)
    except PolicyRefused as refused:
        return {"valid": False, "error": str(refused)}
    return {"valid": True, "defaulted": loaded.to_dict()}


def draw_scenarios(seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    recorded_scenarios = [line["scenario"] for line in recorded()]
    return [
        mix_scenarios(Random(f"{seed}/{number}"), recorded_scenarios, f"mixed-{seed}-{number}")
        for number in range(count)
    ]


def differing(program: Path, scenarios: list[Json]) -> Iterator[tuple[Json, Json, Json]]:
    """The scenarios on which the two differ, with the engine's and the real descheduler's answer.

    Where either's outcome is left to chance there is nothing to compare. Few runs may all happen to walk a map in
    one order, so what differs is asked again with many.
    """
    suspected = [scenario for scenario, _, _ in _differing(program, scenarios, RUNS)]
    return _differing(program, suspected, MANY)


def _differing(program: Path, scenarios: list[Json], runs: int) -> Iterator[tuple[Json, Json, Json]]:
    for scenario, theirs in zip(scenarios, reference(program, scenarios, runs), strict=True):
        ours = engine_answer(scenario, runs=runs, shuffles=0)
        if theirs.get("alternatives") or ours.get("alternatives"):
            continue
        certain = ours["ordered"] and theirs["ordered"]
        compared = (*SAME, "failures") if certain else SAME
        if _evicted(ours, certain) != _evicted(theirs, certain) or any(
            _part_of(ours, part) != _part_of(theirs, part) for part in compared
        ):
            yield scenario, ours, theirs


def reference(program: Path, scenarios: list[Json], runs: int) -> list[Json]:
    """The real descheduler's answers, each of ``runs`` runs."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    command = [str(program), "-runs", str(runs), "-shuffles", "0"]
    process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in process.stdout.splitlines()]


def _part_of(answer: Json, part: str) -> Any:
    """A part of an answer; of several thresholds that cross, a walk over a map decides which one an error names."""
    value = answer.get(part)
    return CROSSED.sub("thresholds' ", value) if part == "error" and value else value


def _evicted(answer: Json, ordered: bool) -> list[Json]:
    """The evictions, in their order where that is certain."""
    listed: list[Json] = answer["evicted"]
    return (
        listed
        if ordered
        else sorted(listed, key=lambda eviction: (eviction["profile"], eviction["plugin"], eviction["pod"]))
    )


def _lines(name: str) -> list[Json]:
    with lzma.open(GOLDENS / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _no_clock() -> float:
    raise AssertionError("a scenario without its own time")


def main() -> None:
    options = hunt_options(())
    differences = list(differing(Path(os.environ["DESCHEDULER"]), draw_scenarios(options.seed, options.count)))
    for scenario, ours, theirs in differences[: options.most]:
        print(json.dumps(scenario), json.dumps(ours), json.dumps(theirs), sep="\n")
    print(f"{len(differences)} of {options.count} differ")


if __name__ == "__main__":
    main()
