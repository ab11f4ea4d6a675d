"""Scenarios of groups put to the real scheduler of 1.37 or 1.38 and to the engine.

    GANGS=$(tests/originals/build gangs) python -m tests.conformance.groups [--seed N] [--count N] [KIND …]

prints each scenario on which the two differ, made as small as it can be. ``tests/originals/build gangs-1.38`` builds
the program of 1.38, which is told by the name of its folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from tests.conformance.hunt_options import hunt_options
from tests.conformance.hunting import KEPT_FIELDS
from tests.conformance.making.groups import Allocated, Busy, Devices, Domains, Groups, Sampled, Sharing
from tests.conformance.making.grouptrees import Trees
from tests.conformance.making.groupvolumes import Volumes
from tests.conformance.rounds import Rounds
from tests.conformance.shrinking import shrink

Difference = tuple[Json, Json, Json]
KINDS = {
    "groups": Groups,
    "domains": Domains,
    "sampled": Sampled,
    "devices": Devices,
    "sharing": Sharing,
    "allocated": Allocated,
    "busy": Busy,
    "volumes": Volumes,
    "trees": Trees,
}
FIRST = "1.37"  # that has groups
GOLDEN = {FIRST: "groups.jsonl.gz", "1.38": "groups-1.38.jsonl.xz"}
TOPOLOGY = "TopologyAwareWorkloadScheduling"
NODE = re.compile(r"(?<= on node )\S+(?=,)")
PROCESSES, PART, TIMEOUT = 8, 16, 300
RETRIES = 96  # how often kube-scheduler is asked again where the two differ
KEEP = KEPT_FIELDS | {
    "schedulingPolicy",
    "schedulingGroup",
    "podGroupName",
    "gang",
    "minCount",
    "rounds",
    "featureGates",
}
KEEP |= {"status", "allocatable", "priority", "startTime", "nodeName", "key", "most", "release"}
KEEP |= {TOPOLOGY, "CompositePodGroup", "parentCompositePodGroupName", "minGroupCount", "workloadRef", "workloadName"}


def draw_scenarios(kind: str, seed: int, count: int, release: str = FIRST) -> list[Json]:
    """``count`` scenarios to be asked of ``release``; number n of a seed is always the same."""
    maker = KINDS[kind]
    gates = {gate: True for gate in ((TOPOLOGY,) if maker.topology else ()) + maker.gates}
    fields: Json = {"featureGates": gates} | ({} if release == FIRST else {"release": release})
    scenarios = [
        maker(Random(f"{seed}/{kind}/{number}")).scenario(f"{kind}-{seed}-{number}") | fields for number in range(count)
    ]
    for scenario in scenarios:
        # Of large clusters 1.38 looks at some domains only, which it draws.
        if release != FIRST and maker.topology and "config" in scenario:
            scenario["config"]["percentageOfPlacementsToScore"] = 100
    return scenarios


def list_kinds(release: str) -> list[str]:
    """Return the kinds of scenarios that ``release`` can be asked."""
    return [name for name, maker in KINDS.items() if maker.since <= release]


class Gangs:
    """The real scheduler's answers; the scenario that ends the program is answered with the error."""

    def __init__(self, command: Path) -> None:
        self.command = command
        match = re.search(r"gangs-(1\.\d+)-", str(command))
        self.release = match[1] if match else FIRST

    def answers(self, scenarios: list[Json]) -> list[Json]:
        """One answer for each of ``asked``, which are of one kind: the gates are the process's."""
        size = max(1, min(PART, -(-len(scenarios) // PROCESSES)))
        parts = [scenarios[first : first + size] for first in range(0, len(scenarios), size)]
        with ThreadPoolExecutor(PROCESSES) as pool:
            return [answer for part in pool.map(self._part, parts) for answer in part]

    def _part(self, scenarios: list[Json]) -> list[Json]:
        gates = ",".join(f"{name}={str(on).lower()}" for name, on in scenarios[0].get("featureGates", {}).items())
        environment = os.environ | {"ORACLE_FEATURE_GATES": gates}
        answers: list[Json] = []
        while len(answers) < len(scenarios):
            text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios[len(answers) :])
            completed = subprocess.run(
                [self.command], input=text, capture_output=True, text=True, timeout=TIMEOUT, env=environment
            )
            answers += [json.loads(line) for line in completed.stdout.splitlines()]
            if completed.returncode:
                answers.append({"error": completed.stderr.strip()})
        return answers

    def differing(self, scenarios: list[Json]) -> Iterator[Difference]:
        """The scenarios on which the two differ, with the engine's and the real scheduler's answer."""
        for scenario, expected in zip(scenarios, self.answers(scenarios), strict=True):
            ours = engine_answer(scenario)
            if not same(ours, expected) and not self.by_chance(scenario, ours):
                yield scenario, ours, expected

    def by_chance(self, scenario: Json, ours: Json) -> bool:
        """Return whether a repeated kube-scheduler run agrees with the engine: the order of Go's maps decides here.

        So it is with two groups that become ready at the same moment, and, in each attempt anew, with the pod on a node
        that is named first where a group's pods do not fit together.
        """
        repeated_answers = self.answers([scenario] * RETRIES)
        return any(same(ours, with_same_errors(answer, ours, repeated_answers)) for answer in repeated_answers)

    def report(self, difference: Difference) -> str:
        """A difference as small as it gets."""
        small = shrink(difference[0], self._still(difference), KEEP, 1500)
        (expected,) = self.answers([small])
        lines = [
            json.dumps(small),
            f"engine    {json.dumps(engine_answer(small))}",
            f"reference {json.dumps(expected)}",
        ]
        return "\n".join(lines)

    def _still(self, difference: Difference) -> Any:
        sort = sort_of(*difference[1:])

        def check(forms: list[Json]) -> list[bool]:
            pairs = [(engine_answer(form), answer) for form, answer in zip(forms, self.answers(forms), strict=True)]
            verdicts = [not same(mine, theirs) and sort_of(mine, theirs) == sort for mine, theirs in pairs]
            return [wrong and has_all_nodes(form) for form, wrong in zip(forms, verdicts, strict=True)]

        return check


def same(ours: Json, expected: Json) -> bool:
    """Return whether both answers agree, up to where kube-scheduler might have answered differently.

    Of nodes from which one pod would have the same victims evicted, those of a group, it takes any.
    """
    for mine, theirs in zip(ours.get("attempts", []), expected.get("attempts", []), strict=False):
        if mine != theirs:
            return comparable_attempt(mine) == comparable_attempt(theirs)
    return ours == expected


def with_same_errors(answer: Json, ours: Json, repeated_answers: list[Json]) -> Json:
    """Return the answer with those of our attempts that end in an error, which any of the repeated runs gave too."""
    attempts = []
    for place, (theirs, mine) in enumerate(zip(answer.get("attempts", []), ours.get("attempts", []), strict=False)):
        also = (repeated.get("attempts", [])[place : place + 1] for repeated in repeated_answers)
        attempts.append(mine if is_error(mine) and is_error(theirs) and [mine] in also else theirs)
    return answer | {"attempts": attempts + answer.get("attempts", [])[len(attempts) :]} if attempts else answer


def is_error(attempt: Json) -> bool:
    """Return whether the group was not placed because of an error, which changes nothing but conditions."""
    return bool(attempt.get("group", {}).get("reason", "").endswith("Error"))


def comparable_attempt(attempt: Json) -> Json:
    """The attempt without the node that a pod waits for, where it has others evicted; any other is like no other."""
    if "evicted" not in attempt or "group" in attempt:
        return {"alone": id(attempt)}
    pods = [
        {"pod": pod_answer["pod"], "message": NODE.sub("", pod_answer.get("message", ""))}
        for pod_answer in attempt["pods"]
    ]
    return attempt | {"pods": pods}


def has_all_nodes(scenario: Json) -> bool:
    """Return whether the nodes of all bound pods exist."""
    nodes = {item["metadata"]["name"] for item in scenario["objects"] if item["kind"] == "Node"}
    return all(
        item["spec"].get("nodeName", "") in {"", *nodes} for item in scenario["objects"] if item["kind"] == "Pod"
    )


def sort_of(*answers: Json) -> list[tuple[bool, bool]]:
    """Return the kind of difference that shrinking a scenario must preserve: no answer at all, or an error."""
    return [("error" in answer, "SchedulerError" in json.dumps(answer)) for answer in answers]


def engine_answer(scenario: Json) -> Json:
    """Return the engine's answer to one scenario."""
    try:
        return Rounds(scenario).play()
    except CycleError as error:
        return {"error": str(error)}
    except ValueError as error:  # of the configuration
        return {"error": f"{scenario['name']}: {error}"}


def main() -> None:
    gangs = Gangs(Path(os.environ["GANGS"]))
    options = hunt_options(list_kinds(gangs.release))
    for kind in options.kinds:
        differences = list(gangs.differing(draw_scenarios(kind, options.seed, options.count, gangs.release)))
        print(f"{kind}: {len(differences)} of {options.count} differ (seed {options.seed})", flush=True)
        for difference in differences[: options.most]:
            print(gangs.report(difference), flush=True)


if __name__ == "__main__":
    main()
