"""Autoscalers put to the real controller of Kubernetes 1.37 and to the engine.

    HPA=$(tests/originals/build hpa) python -m tests.conformance.autoscaling [--seed N] [--count N] [KIND …]

prints scenarios on which the two differ; ``--record`` alone writes the goldens anew.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from kschedweb.engine.controllers import deletion_order
from kschedweb.engine.controllers.autoscaling import cron, spec
from kschedweb.engine.controllers.autoscaling.horizontal import SYNC, HorizontalController
from kschedweb.engine.controllers.autoscaling.replica_calculator import ObservedPod, PodMetric
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.resources import read_resources
from tests.conformance.hunt_options import hunt_options
from tests.conformance.making.autoscalers import Behaviors, Crons, Looks, Orders

KINDS: dict[str, Any] = {"looks": Looks, "behaviors": Behaviors, "orders": Orders, "crons": Crons}
GOLDEN = Path(__file__).parent / "recorded" / "autoscaling.jsonl.xz"
GOLDEN_COUNT, GOLDEN_SEED = 30, 37  # how many scenarios of a kind the goldens hold, and their seed
BEGIN = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
TIMEOUT = 300
CONDITIONS = ("AbleToScale", "ScalingActive", "ScalingLimited")
# Which of the pods without a request is named, the order of Go's maps decides.
NAMED_POD = re.compile(r"(missing (?:pod-level )?request for \S+ in (?:container \S+ of )?Pod) \S+")


def draw_scenarios(kind: str, seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    return [
        KINDS[kind](Random(f"{seed}/{kind}/{number}")).scenario(f"{kind}-{seed}-{number}") for number in range(count)
    ]


def reference(command: Path, scenarios: list[Json]) -> list[Json]:
    """The real controller's answers."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    completed = subprocess.run([command], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in completed.stdout.splitlines()]


def answer(scenario: Json) -> Json:
    """Return the engine's answer to a scenario, in the form of ``comparable``."""
    if "order" in scenario:
        return {"order": _deletion_order(scenario["order"])}
    if "cron" in scenario:
        return _cron_times(**scenario["cron"])
    controller = HorizontalController(spec.read_autoscaler(scenario["hpa"]))
    single = len(controller.autoscaler.metrics) == 1
    replicas, looks = scenario["replicas"], []
    for number, step in enumerate(scenario["steps"]):
        replicas = step.get("replicas", replicas)
        pods = [_observed_pod(pod) for pod in step["pods"]]
        measured = {
            resource: {name: PodMetric(**metric) for name, metric in values.items()}
            for resource, values in step["metrics"].items()
        }
        scaling = controller.reconcile(replicas, pods, measured, number * SYNC)
        replicas = scaling.replicas
        conditions = {kind: NAMED_POD.sub(r"\1", controller.conditions.get(kind, "")) for kind in CONDITIONS}
        used = [] if scaling.utilization is None else [scaling.utilization]
        looks.append({"replicas": replicas, "conditions": conditions} | ({"utilization": used} if single else {}))
    return {"looks": looks}


def comparable(answer: Json) -> Json:
    """Reduce the real controller's answer to the parts that are compared."""
    if answer.get("error"):
        return {"error": "is refused"}
    if "looks" not in answer and "order" not in answer:
        return {"due": answer.get("due", [])}
    if "order" in answer:
        return {"order": answer["order"]}
    looks = []
    for look in answer["looks"]:
        conditions = {kind: NAMED_POD.sub(r"\1", look["conditions"].get(kind, "")) for kind in CONDITIONS}
        used = {"utilization": list(look.get("utilization", {}).values())} if answer["metrics"] == 1 else {}
        looks.append({"replicas": look["replicas"], "conditions": conditions} | used)
    return {"looks": looks}


def differing(command: Path, scenarios: list[Json]) -> Iterator[tuple[Json, Json, Json]]:
    """The scenarios on which the two differ, with the engine's and the real controller's answer."""
    for scenario, reference_answer in zip(scenarios, reference(command, scenarios), strict=True):
        ours, theirs = answer(scenario), comparable(reference_answer)
        if ours != theirs:
            yield scenario, ours, theirs


def goldens() -> list[tuple[Json, Json]]:
    """The recorded scenarios, each with the real controller's answer."""
    with lzma.open(GOLDEN, "rt") as lines:
        return [(entry["scenario"], entry["expected"]) for entry in map(json.loads, lines)]


def _cron_times(expression: str, count: int, **window: int) -> Json:
    try:
        schedule = cron.parse_cron(expression)
    except cron.CronError:
        return {"error": "is refused"}
    times: list[float] = []
    time: float | None = window["from"]
    while len(times) < count and (time := schedule.next_after(time or 0, cron.MONDAY)) is not None:
        times.append(time)
    return {"due": times}


def _deletion_order(question: Json) -> list[str]:
    pods = [_candidate(pod) for pod in question["pods"]]
    active = [pod["spec"].get("nodeName", "") for pod in question["related"] if _active(pod)]
    if question["delete"] < len(pods):
        pods = deletion_order.rank_for_deletion(pods, active, question["now"])
    return [pod.key for pod in pods[: question["delete"]]]


def _active(pod: Json) -> bool:
    return pod["status"]["phase"] not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


def _candidate(pod: Json) -> deletion_order.DeletionCandidate:
    metadata, status = pod["metadata"], pod["status"]
    (ready,) = [condition for condition in status.get("conditions", []) if condition["status"] == "True"] or [None]
    return deletion_order.DeletionCandidate(
        key=metadata["name"],
        uid=metadata["uid"],
        node=pod["spec"].get("nodeName", ""),
        phase=status["phase"],
        ready=_seconds(ready["lastTransitionTime"]) if ready else None,
        cost=deletion_order.deletion_cost(metadata.get("annotations", {})),
        created=_seconds(metadata["creationTimestamp"]),
        restarts=(max([condition["restartCount"] for condition in status.get("containerStatuses", [])], default=0), 0),
    )


def _observed_pod(pod: Json) -> ObservedPod:
    metadata, status = pod["metadata"], pod["status"]
    (ready,) = status.get("conditions") or [None]
    return ObservedPod(
        name=metadata["name"],
        resources=read_resources(pod["spec"], {}),
        phase=status["phase"],
        terminating="deletionTimestamp" in metadata,
        ready=None if ready is None else ready["status"] != "False",
        since=_seconds(ready["lastTransitionTime"]) if ready else 0.0,
        started=_seconds(status["startTime"]) if "startTime" in status else None,
    )


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() - BEGIN


def record(command: Path) -> None:
    """Write the goldens anew."""
    scenarios = [scenario for kind in KINDS for scenario in draw_scenarios(kind, GOLDEN_SEED, GOLDEN_COUNT)]
    with lzma.open(GOLDEN, "wt") as lines:
        for scenario, reference_answer in zip(scenarios, reference(command, scenarios), strict=True):
            lines.write(
                json.dumps({"scenario": scenario, "expected": comparable(reference_answer)}, sort_keys=True) + "\n"
            )


def main() -> None:
    command = Path(os.environ["HPA"])
    if "--record" in sys.argv:
        record(command)
        return
    options = hunt_options(KINDS)
    for kind in options.kinds:
        differences = list(differing(command, draw_scenarios(kind, options.seed, options.count)))
        print(f"{kind}: {len(differences)} of {options.count} differ (seed {options.seed})", flush=True)
        for scenario, ours, theirs in differences[: options.most]:
            print(json.dumps(scenario), f"engine    {json.dumps(ours)}", f"reference {json.dumps(theirs)}", sep="\n")


if __name__ == "__main__":
    main()
