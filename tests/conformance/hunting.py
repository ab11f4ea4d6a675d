"""The difference hunter: scenarios nobody wrote, answered by the engine and by the real scheduler.

    KUBEBUILDER_ASSETS=<folder with oracle> python -m tests.conformance.hunting [--seed N] [--count N] [KIND …]

prints each scenario on which the two differ, made as small as it can be. The scenarios come from a seeded generator
and not from hypothesis: one of three hundred pods is larger than what hypothesis draws from, and the oracle answers
hundreds in the time it takes for ten one by one. So a difference is shrunk afterwards, many forms at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.conformance.hunt_options import SEED as SEED
from tests.conformance.hunt_options import hunt_options
from tests.conformance.making.claims import SettledClaimMaker
from tests.conformance.making.devices import DeviceMaker
from tests.conformance.making.scenarios import Classes, Evictions, Maker, Writer
from tests.conformance.making.unread import UnreadMaker
from tests.conformance.making.volumes import VolumeMaker
from tests.conformance.reference import Answer, Reference
from tests.conformance.shrinking import shrink
from tests.support import tiers

COUNT = tiers.count(300, 20_000)
BATCH = 96
REPEATS = 64  # how often kube-scheduler is asked again where the two differ
ENDS = "kube-scheduler itself ends on it"
TIMED_OUT, OUT_OF_TIME = "timed out trying to allocate devices", "would end within its filterTimeout"
# Without these a part of a scenario is not what it was.
KEPT_FIELDS = frozenset(
    {"config", "parallelism", "profiles", "objects", "pending", "apiVersion", "kind", "metadata", "name", "spec"}
    | {"containers", "allocationMode", "count"}
)


@dataclass(frozen=True)
class Kind:
    """``share``: how many of a thousand scenarios are of this kind; ``modes``: what is asked about each."""

    make: Callable[[Random, str], dict]
    share: int
    modes: tuple[str, ...] = ("explain", "schedule")


def _wide(random: Random, name: str) -> dict:
    """100 to 1,500 nodes, of which a part is looked at."""
    nodes = random.choice([100, 101, 130, 250, 400, 700, 1100, 1500])
    scenario = Classes(random).scenario(name, nodes=nodes, pods=random.randint(3, 12))
    scenario["config"]["percentageOfNodesToScore"] = random.choice([0, 0, 1, 10, 30, 60, 100])
    return scenario


def _long(random: Random, name: str) -> dict:
    return Classes(random).scenario(name, nodes=random.randint(60, 300), pods=random.randint(150, 300))


KINDS = {
    "mixed": Kind(lambda random, name: Maker(random).scenario(name), 330),
    "amounts": Kind(lambda random, name: Writer(random).scenario(name), 150),
    "volumes": Kind(lambda random, name: VolumeMaker(random).scenario(name), 180),
    "devices": Kind(lambda random, name: DeviceMaker(random).scenario(name), 60),
    "claims": Kind(lambda random, name: SettledClaimMaker(random).scenario(name), 60),
    "classes": Kind(lambda random, name: Classes(random).scenario(name), 60, ("schedule",)),
    "explained": Kind(lambda random, name: Classes(random).scenario(name, nodes=12, pods=25), 40),
    "evictions": Kind(lambda random, name: Evictions(random).scenario(name), 100, ("schedule",)),
    "long": Kind(_long, 5, ("schedule",)),
    "wide": Kind(_wide, 15, ("schedule",)),
    "told": Kind(lambda random, name: Maker(random).scenario(name), 60, ("condition",)),
    "unread": Kind(lambda random, name: UnreadMaker(random).terms_scenario(name), 60, ("condition",)),
    "selectors": Kind(lambda random, name: UnreadMaker(random).selectors_scenario(name), 60, ("explain",)),
}


def draw_scenarios(kind: str, seed: int, count: int) -> list[dict]:
    """``count`` scenarios; number n of a seed is always the same."""
    make = KINDS[kind].make
    return [make(Random(f"{seed}/{kind}/{number}"), f"{kind}-{seed}-{number}") for number in range(count)]


def comparable(answer: Any) -> Any:
    """The answer without the order inside ``reasons``, which is left to chance, and what the oracle does not tell."""
    if isinstance(answer, dict):
        compared = {key: value for key, value in answer.items() if key != "scoreWithoutPlugins"}
        return {key: sorted(value) if key == "reasons" else comparable(value) for key, value in compared.items()}
    return [comparable(item) for item in answer] if isinstance(answer, list) else answer


def same(scenario: dict, ours: Answer, expected: Answer) -> bool:
    """Return whether both answers agree; of equally good preemption candidates kube-scheduler takes any."""
    if "error" in ours or "error" in expected:
        return "error" in expected and ("error" in ours or ENDS in json.dumps(ours))
    if TIMED_OUT in json.dumps(expected):  # kube-scheduler's search ends by the clock: which one, nobody can say
        return OUT_OF_TIME in json.dumps(ours)
    ours, expected = comparable(ours), comparable(expected)
    for mine, theirs in zip(ours.get("pods") or [], expected.get("pods") or [], strict=True):
        preemptions = [answer["preemption"] for answer in (mine, theirs) if "preemption" in answer]
        if len({disturbance(scenario, preemption) for preemption in preemptions}) == 1:
            for preemption in preemptions:
                preemption.pop("node")
    return bool(ours == expected)


def by_chance(reference: Reference, mode: str, scenario: dict, ours: Answer) -> bool:
    """Return whether a repeated kube-scheduler run agrees with the engine: the order of Go's maps decides here."""
    answers = (parts(mode, answer) for answer in reference.answers(mode, [scenario] * REPEATS))
    mine = parts(mode, ours)
    same_length = [theirs for theirs in answers if len(theirs) == len(mine)]
    return all(any(same(scenario, part, theirs[at]) for theirs in same_length) for at, part in enumerate(mine))


def parts(mode: str, answer: Answer) -> list[Answer]:
    """Split an answer into parts that chance decides separately: explanations are independent, placements are not."""
    return [{"pods": [pod]} for pod in answer["pods"]] if mode == "explain" and "pods" in answer else [answer]


def disturbance(scenario: dict, preemption: dict) -> tuple:
    """Measure the disturbance of the node that is taken, by the rules of DefaultPreemption."""
    pods = {name_of(pod): pod for pod in [*scenario["objects"], *scenario["pending"]] if pod["kind"] == "Pod"}
    candidate = preemption["candidates"][preemption["node"]]
    victims = [pods[name] for name in candidate["pods"]]
    priorities = [pod["spec"].get("priority", 0) for pod in victims]
    starts = [pod.get("status", {}).get("startTime", "now") for pod in victims]
    highest = [start for start, priority in zip(starts, priorities, strict=True) if priority == max(priorities)]
    return candidate["pdbViolations"], priorities[0], sum(priorities) + len(victims) * 2**31, len(victims), min(highest)


def name_of(pod: dict) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"


def differing(reference: Reference, mode: str, scenarios: list[dict]) -> Iterator[tuple[dict, Answer, Answer]]:
    """The scenarios on which the two differ, with the engine's and the real scheduler's answer."""
    for first in range(0, len(scenarios), BATCH):
        batch = scenarios[first : first + BATCH]
        for scenario, expected in zip(batch, reference.answers(mode, batch), strict=True):
            ours = reference.engine_answer(mode, scenario)
            if not same(scenario, ours, expected) and not by_chance(reference, mode, scenario, ours):
                yield scenario, ours, expected


def sort_of(ours: Answer, expected: Answer) -> tuple[bool, bool]:
    """Return the kind of difference that shrinking must preserve: a missing answer, or a plugin's failure."""
    return ("error" in ours) != ("error" in expected), "running " in json.dumps([ours, expected])


def smallest(reference: Reference, mode: str, difference: tuple[dict, Answer, Answer]) -> dict:
    """A small form of a scenario on which the two differ."""
    scenario, *answers = difference
    sort = sort_of(*answers)

    def check(forms: list[dict]) -> list[bool]:
        answered = zip(forms, reference.answers(mode, forms), strict=True)
        pairs = [(form, reference.engine_answer(mode, form), expected) for form, expected in answered]
        return [
            sort_of(ours, expected) == sort
            and not same(form, ours, expected)
            and not by_chance(reference, mode, form, ours)
            for form, ours, expected in pairs
        ]

    smallest_form: dict = shrink(scenario, check, KEPT_FIELDS)
    return smallest_form


def report(reference: Reference, mode: str, difference: tuple[dict, Answer, Answer]) -> str:
    """A difference as small as it gets, in words to paste into regressions."""
    small = smallest(reference, mode, difference)
    ours, (expected,) = reference.engine_answer(mode, small), reference.answers(mode, [small])
    lines = [f"{mode} {small['name']}", json.dumps(reference.with_release(small)), f"engine    {json.dumps(ours)}"]
    return "\n".join([*lines, f"reference {json.dumps(expected)}"])


def main() -> None:
    options = hunt_options(KINDS)
    reference = Reference(Path(os.environ["KUBEBUILDER_ASSETS"]))
    for kind in options.kinds:
        for mode in KINDS[kind].modes:
            differences = list(differing(reference, mode, draw_scenarios(kind, options.seed, options.count)))
            print(f"{kind} {mode}: {len(differences)} of {options.count} differ (seed {options.seed})", flush=True)
            for difference in differences[: options.most]:
                print(report(reference, mode, difference), flush=True)


if __name__ == "__main__":
    main()
