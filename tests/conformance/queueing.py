"""Scenarios of queues put to Kueue 0.19.2 and to the engine, and those that are recorded with Kueue's answers.

    KUEUE=$(tests/originals/build kueue) python -m tests.conformance.queueing [mixed|forests] [--seed N] [--count N]

prints scenarios on which the two differ.
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

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.scenario import QueueingError, answer_scenario
from tests.conformance.hunt_options import hunt_options
from tests.conformance.making.queues import QueueForest, mix_scenarios

# Recorded scenarios that are changed, and forests of cohorts that are drawn.
MIXED, FORESTS = KINDS = ("mixed", "forests")
# Repetitions of a scenario, and those of one on which the two differ: what is left to chance varies.
RUNS, MANY = 4, 64
TIMEOUT = 1200
RECORDED = Path(__file__).parent / "recorded" / "kueue.jsonl.xz"


@cache
def recorded() -> list[Json]:
    """Return the recorded lines: ``scenario``, and Kueue's ``answer``."""
    with lzma.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def group_name(scenario: Json) -> str:
    """Return the kind of a scenario: what stands before its number."""
    name: str = scenario["name"]
    return "issue" if name.startswith("issue-") else re.sub(r"-\d+$", "", name)


def list_answers(answer: Json) -> list[Json]:
    """Return all answers that Kueue gave in its repetitions: the most frequent one first."""
    first = {key: value for key, value in answer.items() if key not in ("alternatives", "alternativesLeftOff")}
    return [first, *answer.get("alternatives", ())]


def engine_answer(scenario: Json) -> Json:
    answer: Json = json.loads(json.dumps(answer_scenario(scenario)))
    return answer


def draw_scenarios(kind: str, seed: int, count: int) -> list[Json]:
    """Return ``count`` scenarios of a kind; number n of a seed is always the same."""
    names = [f"{kind}-{seed}-{number}" for number in range(count)]
    if kind == FORESTS:
        return [QueueForest(Random(name)).scenario(name) for name in names]
    scenarios = [line["scenario"] for line in recorded()]
    return [mix_scenarios(Random(name), scenarios, name) for name in names]


def fetch_answers(program: Path, scenarios: list[Json], runs: int = RUNS) -> list[Json]:
    """Return Kueue's own answers, each of ``runs`` repetitions; ``{"panic": …}`` where Kueue itself ends with one."""
    answers: list[Json] = []
    while len(answers) < len(scenarios):
        text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios[len(answers) :])
        command = [str(program), "-runs", str(runs)]
        process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        answers += [json.loads(line) for line in process.stdout.splitlines()]
        if process.returncode:
            answers.append({"panic": next((line for line in process.stderr.splitlines() if "panic" in line), "")})
    return answers


def find_differences(program: Path, scenarios: list[Json]) -> Iterator[tuple[Json, Json, Json]]:
    """Yield the scenarios on which the two differ, with the engine's and Kueue's answer.

    What is left to chance shows in few repetitions or in many, so what differs is asked again.
    """
    suspects = [scenario for scenario, _, _ in _compare(program, scenarios, RUNS)]
    yield from _compare(program, suspects, MANY) if suspects else ()


def _compare(program: Path, scenarios: list[Json], runs: int) -> Iterator[tuple[Json, Json, Json]]:
    for scenario, answer in zip(scenarios, fetch_answers(program, scenarios, runs), strict=True):
        try:
            own_answer = engine_answer(scenario)
        except QueueingError as error:
            own_answer = {"refused": str(error)}
        if "panic" in answer:
            continue
        # Of many alternatives the program names some.
        if own_answer not in list_answers(answer) and not answer.get("alternativesLeftOff"):
            yield scenario, own_answer, answer


def main() -> None:
    options = hunt_options(KINDS)
    for kind in options.kinds:
        scenarios = draw_scenarios(kind, options.seed, options.count)
        differences = list(find_differences(Path(os.environ["KUEUE"]), scenarios))
        for difference in differences[: options.most]:
            print(*map(json.dumps, difference), sep="\n")
        print(f"{kind}: {len(differences)} of {options.count} differ (seed {options.seed})")


if __name__ == "__main__":
    main()
