"""Evictions that kube-scheduler 1.13.0 would make, and those of the classic engine.

    PREEMPT113=$(tests/originals/build preempt113) python -m tests.conformance.classic_evictions [--seed N] [--count N]

prints each scenario on which the two differ, made as small as it can be. With ``--golden`` it writes the recorded
answers instead.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from kschedweb.engine.cycle.search_request import WITH_POST_FILTER
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic import ClassicScheduler
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.releases.classic.preemption import disruption_key
from kschedweb.engine.scenario.classic import ClassicScenario
from kschedweb.engine.scenario.reading import ScenarioError
from kschedweb.engine.state.nominator import Nominator
from tests.conformance.classic import GOLDENS, KEPT_FIELDS
from tests.conformance.making.classicroom import ClassicRoomMaker
from tests.conformance.shrinking import shrink

GOLDEN = GOLDENS / "classic-evictions.jsonl.xz"
RECORDED = 200
PROCESSES, TIMEOUT = 8, 60
KEEP = KEPT_FIELDS | {"extender", "priority", "status", "nominatedNodeName", "allocatable", "key", "uid", "nodeName"}


def draw_scenarios(seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    return [ClassicRoomMaker(Random(f"{seed}/{number}")).scenario(f"room-{seed}-{number}") for number in range(count)]


RETRIES = 4  # times that the real scheduler is asked again before a difference counts


class Evictions:
    """The real classic scheduler's answers. Each scenario has a process of its own, in which nothing is registered."""

    def __init__(self, command: Path) -> None:
        self.command = command

    def answers(self, scenarios: list[Json]) -> list[Json]:
        with ThreadPoolExecutor(PROCESSES) as pool:
            return list(pool.map(self._answer, scenarios))

    def _answer(self, scenario: Json) -> Json:
        text = json.dumps(scenario)
        completed = subprocess.run([self.command], input=text, capture_output=True, text=True, timeout=TIMEOUT)
        if completed.returncode:  # a policy that it cannot run ends the whole program
            return {"error": completed.stderr.strip()}
        answer: Json = json.loads(completed.stdout)
        return answer

    def differing(self, scenarios: list[Json]) -> list[tuple[Json, Json, Json]]:
        """The scenarios on which the two differ, with the engine's and the real scheduler's answer."""
        pairs = [
            (scenario, engine_answer(scenario), comparable(scenario, answer))
            for scenario, answer in zip(scenarios, self.answers(scenarios), strict=True)
        ]
        return [pair for pair in pairs if not (same(*pair[1:]) or self._by_chance(*pair[:2]))]

    def _by_chance(self, scenario: Json, ours: Json) -> bool:
        """Return whether the real scheduler may answer so too: of equal nodes it takes the first its threads find."""
        return any(same(ours, comparable(scenario, answer)) for answer in self.answers([scenario] * RETRIES))

    def report(self, difference: tuple[Json, Json, Json]) -> str:
        """A difference as small as it gets."""

        def check(forms: list[Json]) -> list[bool]:
            answers = [comparable(form, answer) for form, answer in zip(forms, self.answers(forms), strict=True)]
            return [
                "error" not in theirs and not same(engine_answer(form), theirs)
                for form, theirs in zip(forms, answers, strict=True)
            ]

        small = shrink(difference[0], check, KEEP, 800)
        ours, (theirs,) = engine_answer(small), self.answers([small])
        return "\n".join([json.dumps(small), f"engine    {json.dumps(ours)}", f"reference {json.dumps(theirs)}"])


def same(ours: Json, theirs: Json) -> bool:
    if "error" in ours or "error" in theirs:
        return "error" in ours and "error" in theirs
    return ours == theirs


def comparable(scenario: Json, answer: Json) -> Json:
    """Reduce the real scheduler's answer to the parts that are visible from outside and not left to chance.

    Candidates are those before extenders were asked. An error of preemption only keeps it from nominating.
    """
    if "error" in answer:
        return {"error": answer["error"]}
    pods = []
    for pod_answer in answer.get("pods") or []:
        pod_row = {
            "pod": pod_answer["pod"],
            "fits": "node" in pod_answer,
            "message": ordered(pod_answer.get("message", "")),
        }
        if not pod_row["fits"]:
            pod_row |= {name: pod_answer.get(name) or {} for name in ("candidates", "evicted", "cleared")}
            if _asks_extenders(scenario):
                del pod_row["candidates"]
        pods.append(pod_row)
    return {"pods": pods}


def ordered(message: str) -> str:
    """Several errors in one order: that of Go's maps is left to chance."""
    return f"[{', '.join(sorted(message[1:-1].split(', ')))}]" if message.startswith("[") else message


def engine_answer(scenario: Json) -> Json:
    """The same of the engine."""
    try:
        read = ClassicScenario.from_json(scenario, {})
        post = None if "extender" not in scenario else _post(scenario["extender"])
        extenders = ClassicExtenders(read.algorithm.extenders, post)
        nominator = Nominator.from_pods(read.pending)
        scheduler = ClassicScheduler(read.snapshot, read.algorithm, nominator=nominator, extenders=extenders)
        return {"pods": [_answer(scheduler, pod, scenario) for pod in read.pending]}
    except (ScenarioError, CycleError) as error:
        return {"error": str(error)}


def _answer(scheduler: ClassicScheduler, pod: Pod, scenario: Json) -> Json:
    placed = scheduler.find(pod, WITH_POST_FILTER)
    pod_row: Json = {"pod": pod.key, "fits": bool(placed.node), "message": ordered(placed.condition)}
    if placed.node:
        return pod_row
    pod_row |= {"candidates": {}, "evicted": {}, "cleared": {}}
    if placed.rejected_by:
        preemption = scheduler.explain(pod, preemption=True).preemption
        if placed.nominated == "":
            pod_row["cleared"][""] = [pod.key]
        if preemption is not None:
            assert (placed.nominated, placed.victims) == (
                preemption.chosen.node,
                tuple(victim.key for victim in preemption.chosen.victims),
            )
            pod_row["candidates"] = {
                candidate.node: {
                    "pods": [victim.key for victim in candidate.victims],
                    "violations": candidate.violations,
                }
                for candidate in preemption.candidates
            }
            lowest_disruption = min(map(disruption_key, preemption.candidates))
            for candidate in preemption.candidates:
                if disruption_key(candidate) == lowest_disruption:
                    pod_row["evicted"][candidate.node] = [victim.key for victim in candidate.victims]
                    waiting = scheduler.nominator.nominated_pods_for_node(candidate.node)
                    if losers := sorted(other.key for other in waiting if other.priority < pod.priority):
                        pod_row["cleared"][candidate.node] = losers
    if _asks_extenders(scenario):
        del pod_row["candidates"]
    return pod_row


def _asks_extenders(scenario: Json) -> bool:
    return any("preemptVerb" in extender for extender in scenario.get("policy", {}).get("extenders") or ())


def _post(script: Json) -> Post:
    """An extender that says what the script says."""

    def post(url: str, body: bytes, seconds: float) -> tuple[int, bytes]:
        arguments = json.loads(body)
        if not url.endswith("/preempt"):
            return 200, json.dumps(_filtered(script, arguments)).encode()
        if script["breaks"]:
            return 500, b"broken"
        victims_by_node = arguments["NodeNameToVictims"] or arguments["NodeNameToMetaVictims"]
        remaining = {
            node: _without_spared(script, victims)
            for node, victims in victims_by_node.items()
            if node not in script["drops"]
        }
        return 200, json.dumps({"NodeNameToMetaVictims": remaining}).encode()

    return post


def _filtered(script: Json, arguments: Json) -> Json:
    items = None if arguments["NodeNames"] is not None else arguments["Nodes"]["items"]
    names = arguments["NodeNames"] if items is None else [item["metadata"]["name"] for item in items]
    failed = {name: script["refuses"][name] for name in names if name in script["refuses"]}
    feasible_names = [name for name in names if name not in failed]
    if items is None:
        return {"NodeNames": feasible_names, "FailedNodes": failed}
    return {
        "Nodes": {"items": [item for item in items if item["metadata"]["name"] in feasible_names]},
        "FailedNodes": failed,
    }


def _without_spared(script: Json, victims: Json) -> Json:
    uids = (pod["UID"] if "UID" in pod else pod["metadata"]["uid"] for pod in victims["Pods"])
    return {"Pods": [{"UID": uid} for uid in uids if uid not in script["spares"]]}


def recorded() -> list[Json]:
    """The recorded scenarios, each with the answer as ``expected``."""
    return [json.loads(line) for line in lzma.decompress(GOLDEN.read_bytes()).decode().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--golden", action="store_true")
    options = parser.parse_args()
    evictions = Evictions(Path(os.environ["PREEMPT113"]))
    if options.golden:
        scenarios = draw_scenarios(options.seed, RECORDED)
        lines = [
            {"scenario": scenario, "expected": comparable(scenario, answer)}
            for scenario, answer in zip(scenarios, evictions.answers(scenarios), strict=True)
        ]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        GOLDEN.write_bytes(lzma.compress(text.encode(), preset=9))
        return
    differences = evictions.differing(draw_scenarios(options.seed, options.count))
    for difference in differences:
        print(evictions.report(difference))
    print(f"{len(differences)} of {options.count} differ")


if __name__ == "__main__":
    main()
