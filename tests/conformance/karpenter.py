"""Scenarios put to Karpenter's core 1.15.0 and to the engine.

    KARPENTER=<oracle-karpenter> python -m tests.conformance.karpenter [--seed N] [--count N]

prints scenarios on which the two differ. The program is built by oracles/build-fast in the folder of recorded data.
"""

from __future__ import annotations

import json
import lzma
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from kschedweb.engine.autoscaling.scenario import answer_scenario
from kschedweb.engine.json_types import Json
from tests.conformance.hunt_options import hunt_options
from tests.conformance.making.nodepools import mixed

GOLDEN = Path(__file__).parent / "recorded" / "karpenter.jsonl.xz"
RUNS = 12
TIMEOUT = 3600
VARYING = ("alternatives", "alternativesLeftOff", "errorTextsVary", "reasonsVary")


@cache
def recorded() -> list[Json]:
    """The recorded scenarios, each with Karpenter's answer as ``expected``."""
    with lzma.open(GOLDEN, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def engine_answer(scenario: Json, runs: int = RUNS) -> Json:
    """What the engine says; scenarios say their own time."""
    return answer_scenario(scenario, _no_clock, runs=runs)


def agreeing(scenario: Json, theirs: Json) -> tuple[Json, bool]:
    """What the engine says, and whether Karpenter agrees; where it does not at once, with what else may come of it."""
    ours = engine_answer(scenario, runs=1)
    if not agree(ours, theirs):
        ours = engine_answer(scenario)
    return ours, agree(ours, theirs)


def scenarios(seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    known = [line["scenario"] for line in recorded()]
    return [mixed(Random(f"{seed}/{number}"), known, f"mixed-{seed}-{number}") for number in range(count)]


def decided(told: Json) -> Json:
    """An answer without words and without what is left to chance."""
    kept = {key: value for key, value in told.items() if key not in VARYING}
    provisioning, disruption = told.get("provisioning"), told.get("disruption")
    if provisioning is not None:
        kept["provisioning"] = {**provisioning, "podErrors": sorted(provisioning["podErrors"])}
    if disruption is not None:
        kept["disruption"] = {key: value for key, value in disruption.items() if key != "reasons"}
    return kept


def outcomes(told: Json) -> list[Json]:
    """The answer, and those that chance could lead to."""
    return [decided(one) for one in (told, *told.get("alternatives", ()))]


def agree(ours: Json, theirs: Json) -> bool:
    """Whether both come to the same, or can; and where nothing is left to chance in the same words."""
    mine, known = outcomes(ours), outcomes(theirs)
    if not any(one in known for one in mine):
        return False
    return len(mine) > 1 or len(known) > 1 or _words(ours, theirs)


def _words(ours: Json, theirs: Json) -> bool:
    varying = [ours.get(key) or theirs.get(key) for key in ("errorTextsVary", "reasonsVary")]
    of_errors = [told["provisioning"]["podErrors"] for told in (ours, theirs)]
    of_nodes = [told.get("disruption", {}).get("reasons") for told in (ours, theirs)]
    return bool(varying[0] or of_errors[0] == of_errors[1]) and bool(varying[1] or of_nodes[0] == of_nodes[1])


@dataclass(slots=True)
class Hunt:
    """What came of a hunt: how many there was anything certain to compare of, and what differs."""

    compared: int
    differing: list[tuple[Json, Json, Json]]


def hunt(program: Path, asked: list[Json]) -> Hunt:
    """Compare the answers of both. Where too much is left to chance there is nothing to compare."""
    found = Hunt(0, [])
    for scenario, theirs in zip(asked, reference(program, asked), strict=True):
        ours, same = agreeing(scenario, theirs)
        if same:
            found.compared += 1
        elif not theirs.get("alternativesLeftOff") and not ours.get("alternativesLeftOff"):
            found.compared += 1
            found.differing.append((scenario, ours, theirs))
    return found


def reference(program: Path, asked: list[Json]) -> list[Json]:
    """Karpenter's own answers."""
    text = "\n".join(json.dumps(one) for one in asked)
    done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def _no_clock() -> float:
    raise AssertionError("a scenario without its own time")


def main() -> None:
    options = hunt_options(())
    found = hunt(Path(os.environ["KARPENTER"]), scenarios(options.seed, options.count))
    for scenario, ours, theirs in found.differing[: options.most]:
        print(json.dumps(scenario), json.dumps(ours), json.dumps(theirs), sep="\n")
    print(f"{len(found.differing)} of {found.compared} differ; of {options.count - found.compared} nothing is certain")


if __name__ == "__main__":
    main()
