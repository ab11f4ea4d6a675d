"""Consolidation of nodes that are as full as they can be: each is tried alone, and none can go.

Karpenter's own core is asked in the same run, on a smaller cluster: its program reads the whole cluster anew for each
node that it tries.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Callable
from random import Random

import pytest

from kschedweb.engine.autoscaling.scenario import answer_scenario
from kschedweb.engine.json_types import Json
from tests.bench.conftest import measure_milliseconds
from tests.engine.autoscaling.building import CAPACITY_TYPE, machine, needs, pod, pool, scenario, sold
from tests.support.needs import missing

NODES, COMPARED_NODES = 2000, 60
SECONDS = 60.0
TIMES, MOST_TIMES = 10, 20  # as fast as Karpenter's core at least; after which that is not waited for
LEAST_SECONDS = 30.0  # for which it is waited for in any case
ZONES = ("zone-a", "zone-b", "zone-c")


def full(nodes: int) -> Json:
    """A cluster whose nodes have no room left, of the cheapest types that there are for their pods."""
    random = Random(7)
    families = (("c", 2), ("m", 4), ("r", 8))
    types = [
        sold(f"{family}.{cpu}x", cpu, round(cpu * 0.05 * (1 + ratio * 0.11), 5), zones=ZONES, spot=0.01 * cpu)
        for family, ratio in families
        for cpu in (2, 4, 8, 16, 32)
    ]
    objects: list[Json] = []
    for number in range(nodes):
        name, instance_type = f"node-{number:04}", random.choice(types[:3])
        objects += machine(name, instance_type, random.choice(ZONES))
        free_millicores = 1000 * int(instance_type["capacity"]["cpu"])
        while free_millicores:
            cpu = min(free_millicores, random.choice([250, 500, 1000, 2000]))
            free_millicores -= cpu
            objects.append(pod(f"pod-{len(objects)}", name, f"{cpu}m", {"app": f"app-{random.randrange(50)}"}))
    return scenario(types, [pool("pool", needs(CAPACITY_TYPE, "In", "on-demand"))], *objects, disrupt=True)


def idle(answer: Json) -> bool:
    """Return whether a method tried and none of its attempts succeeded."""
    disruption = answer["disruption"]
    return "command" not in disruption and len(disruption["methods"][2]["candidates"]) > 1


@pytest.mark.nightly
def test_two_thousand_nodes_are_looked_at(report: Callable[..., None]) -> None:
    whole, answers = full(NODES), list[Json]()
    took = measure_milliseconds(lambda: answers.append(answer_scenario(whole, lambda: 0.0, runs=1)))
    assert idle(answers[0])
    assert len(answers[0]["disruption"]["methods"][2]["candidates"]) == NODES
    report(f"consolidation, {NODES:,} full nodes", [took], SECONDS * 1000, "one of a kind each, none can go")


def program() -> str:
    path = os.environ.get("KARPENTER")
    if not path:
        missing("KARPENTER is not set: oracles/build-fast in the folder of recorded data")
    return path


def theirs(whole: Json, seconds: float) -> tuple[Json | None, float]:
    """The answer of Karpenter's core and the milliseconds that it worked; ``None`` once that is above ``seconds``."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))

    process = subprocess.run(
        [program(), "-runs", "1"],
        input=json.dumps(whole),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bounded,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worked_for = 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    if process.returncode < 0 and worked_for >= 1000 * seconds:
        return None, worked_for
    process.check_returncode()
    return json.loads(process.stdout), worked_for


@pytest.mark.parametrize("nodes", [COMPARED_NODES, pytest.param(NODES, marks=pytest.mark.nightly)])
def test_consolidation_beside_karpenter(report: Callable[..., None], nodes: int) -> None:
    """Karpenter's core is stopped once it needs more than so many times as long."""
    whole, answers = full(nodes), list[Json]()
    program()
    our_milliseconds = measure_milliseconds(lambda: answers.append(answer_scenario(whole, lambda: 0.0, runs=1)))
    their_answer, their_milliseconds = theirs(whole, max(MOST_TIMES * our_milliseconds / 1000, LEAST_SECONDS))
    assert idle(answers[0])
    if their_answer is not None:
        assert idle(their_answer)
        assert answers[0]["disruption"]["candidates"] == their_answer["disruption"]["candidates"]
    more = "" if their_answer is not None else "more than "
    remark = f"{more}{their_milliseconds / our_milliseconds:.0f} times as fast as Karpenter's core"
    report(f"consolidation beside Karpenter, {nodes:,} full nodes", [our_milliseconds], SECONDS * 1000, remark)
    assert our_milliseconds * TIMES <= their_milliseconds, (
        f"{their_milliseconds / our_milliseconds:.1f} times as fast, at least {TIMES} are wanted"
    )
