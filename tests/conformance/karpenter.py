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
from tests.conformance.making.nodepools import mix_scenario

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
    """Return the engine's answer; each scenario sets its own time."""
    return answer_scenario(scenario, _no_clock, runs=runs)


def agreeing(scenario: Json, theirs: Json) -> tuple[Json, bool]:
    """Return the engine's answer and whether Karpenter agrees, with other possible results where it first does not."""
    ours = engine_answer(scenario, runs=1)
    if not answers_agree(ours, theirs):
        ours = engine_answer(scenario)
    return ours, answers_agree(ours, theirs)


def draw_scenarios(seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    recorded_scenarios = [line["scenario"] for line in recorded()]
    return [
        mix_scenario(Random(f"{seed}/{number}"), recorded_scenarios, f"mixed-{seed}-{number}")
        for number in range(count)
    ]


def certain_part(answer: Json) -> Json:
    """An answer without words and without what is left to chance."""
    certain = {key: value for key, value in answer.items() if key not in VARYING}
    provisioning, disruption = answer.get("provisioning"), answer.get("disruption")
    if provisioning is not None:
        certain["provisioning"] = {**provisioning, "podErrors": sorted(provisioning["podErrors"])}
    if disruption is not None:
        certain["disruption"] = {key: value for key, value in disruption.items() if key != "reasons"}
    return certain


def outcomes(answer: Json) -> list[Json]:
    """The answer, and those that chance could lead to."""
    return [certain_part(alternative) for alternative in (answer, *answer.get("alternatives", ()))]


def answers_agree(ours: Json, theirs: Json) -> bool:
    """Return whether both answers match or can match, and use the same words where nothing is left to chance."""
    our_outcomes, their_outcomes = outcomes(ours), outcomes(theirs)
    if not any(outcome in their_outcomes for outcome in our_outcomes):
        return False
    return len(our_outcomes) > 1 or len(their_outcomes) > 1 or _has_same_words(ours, theirs)


def _has_same_words(ours: Json, theirs: Json) -> bool:
    varying = [ours.get(key) or theirs.get(key) for key in ("errorTextsVary", "reasonsVary")]
    errors = [answer["provisioning"]["podErrors"] for answer in (ours, theirs)]
    reasons = [answer.get("disruption", {}).get("reasons") for answer in (ours, theirs)]
    return bool(varying[0] or errors[0] == errors[1]) and bool(varying[1] or reasons[0] == reasons[1])


@dataclass(slots=True)
class Hunt:
    """Result of a hunt: the number of scenarios with anything certain to compare, and the differences."""

    compared: int
    differing: list[tuple[Json, Json, Json]]


def hunt_differences(program: Path, scenarios: list[Json]) -> Hunt:
    """Compare the answers of both. Where too much is left to chance there is nothing to compare."""
    outcome = Hunt(0, [])
    for scenario, theirs in zip(scenarios, reference(program, scenarios), strict=True):
        ours, same = agreeing(scenario, theirs)
        if same:
            outcome.compared += 1
        elif not theirs.get("alternativesLeftOff") and not ours.get("alternativesLeftOff"):
            outcome.compared += 1
            outcome.differing.append((scenario, ours, theirs))
    return outcome


def reference(program: Path, scenarios: list[Json]) -> list[Json]:
    """Karpenter's own answers."""
    text = "\n".join(json.dumps(scenario) for scenario in scenarios)
    completed = subprocess.run([program], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in completed.stdout.splitlines()]


def _no_clock() -> float:
    raise AssertionError("a scenario without its own time")


def main() -> None:
    options = hunt_options(())
    hunt = hunt_differences(Path(os.environ["KARPENTER"]), draw_scenarios(options.seed, options.count))
    for scenario, ours, theirs in hunt.differing[: options.most]:
        print(json.dumps(scenario), json.dumps(ours), json.dumps(theirs), sep="\n")
    print(f"{len(hunt.differing)} of {hunt.compared} differ; of {options.count - hunt.compared} nothing is certain")


if __name__ == "__main__":
    main()
