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
KEPT, RECORDED = 30, 37  # scenarios of a kind among the goldens
BEGIN = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
TIMEOUT = 300
SHOWN = ("AbleToScale", "ScalingActive", "ScalingLimited")
# Which of the pods without a request is named, the order of Go's maps decides.
ANY = re.compile(r"(missing (?:pod-level )?request for \S+ in (?:container \S+ of )?Pod) \S+")


def scenarios(kind: str, seed: int, count: int) -> list[Json]:
    """``count`` scenarios; number n of a seed is always the same."""
    return [
        KINDS[kind](Random(f"{seed}/{kind}/{number}")).scenario(f"{kind}-{seed}-{number}") for number in range(count)
    ]


def reference(command: Path, asked: list[Json]) -> list[Json]:
    """The real controller's answers."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in asked)
    done = subprocess.run([command], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer(scenario: Json) -> Json:
    """What the engine says to a scenario, in the form of ``shown``."""
    if "order" in scenario:
        return {"order": _order(scenario["order"])}
    if "cron" in scenario:
        return _due(**scenario["cron"])
    controller = HorizontalController(spec.read_autoscaler(scenario["hpa"]))
    single = len(controller.autoscaler.metrics) == 1
    replicas, looks = scenario["replicas"], []
    for number, step in enumerate(scenario["steps"]):
        replicas = step.get("replicas", replicas)
        pods = [_seen(pod) for pod in step["pods"]]
        measured = {
            resource: {name: PodMetric(**one) for name, one in values.items()}
            for resource, values in step["metrics"].items()
        }
        look = controller.reconcile(replicas, pods, measured, number * SYNC)
        replicas = look.replicas
        said = {kind: ANY.sub(r"\1", controller.conditions.get(kind, "")) for kind in SHOWN}
        used = [] if look.utilization is None else [look.utilization]
        looks.append({"replicas": replicas, "conditions": said} | ({"utilization": used} if single else {}))
    return {"looks": looks}


def shown(told: Json) -> Json:
    """What is compared of the real controller's answer."""
    if told.get("error"):
        return {"error": "is refused"}
    if "looks" not in told and "order" not in told:
        return {"due": told.get("due", [])}
    if "order" in told:
        return {"order": told["order"]}
    looks = []
    for look in told["looks"]:
        said = {kind: ANY.sub(r"\1", look["conditions"].get(kind, "")) for kind in SHOWN}
        used = {"utilization": list(look.get("utilization", {}).values())} if told["metrics"] == 1 else {}
        looks.append({"replicas": look["replicas"], "conditions": said} | used)
    return {"looks": looks}


def differing(command: Path, asked: list[Json]) -> Iterator[tuple[Json, Json, Json]]:
    """The scenarios on which the two differ, with the engine's and the real controller's answer."""
    for scenario, told in zip(asked, reference(command, asked), strict=True):
        ours, theirs = answer(scenario), shown(told)
        if ours != theirs:
            yield scenario, ours, theirs


def goldens() -> list[tuple[Json, Json]]:
    """The recorded scenarios, each with the real controller's answer."""
    with lzma.open(GOLDEN, "rt") as lines:
        return [(entry["scenario"], entry["expected"]) for entry in map(json.loads, lines)]


def _due(expression: str, count: int, **asked: int) -> Json:
    try:
        schedule = cron.parse_cron(expression)
    except cron.CronError:
        return {"error": "is refused"}
    found: list[float] = []
    time: float | None = asked["from"]
    while len(found) < count and (time := schedule.next_after(time or 0, cron.MONDAY)) is not None:
        found.append(time)
    return {"due": found}


def _order(asked: Json) -> list[str]:
    pods = [_candidate(pod) for pod in asked["pods"]]
    active = [pod["spec"].get("nodeName", "") for pod in asked["related"] if _active(pod)]
    if asked["delete"] < len(pods):
        pods = deletion_order.rank_for_deletion(pods, active, asked["now"])
    return [pod.key for pod in pods[: asked["delete"]]]


def _active(pod: Json) -> bool:
    return pod["status"]["phase"] not in ("Succeeded", "Failed") and "deletionTimestamp" not in pod["metadata"]


def _candidate(pod: Json) -> deletion_order.DeletionCandidate:
    metadata, status = pod["metadata"], pod["status"]
    (ready,) = [one for one in status.get("conditions", []) if one["status"] == "True"] or [None]
    return deletion_order.DeletionCandidate(
        key=metadata["name"],
        uid=metadata["uid"],
        node=pod["spec"].get("nodeName", ""),
        phase=status["phase"],
        ready=_seconds(ready["lastTransitionTime"]) if ready else None,
        cost=deletion_order.deletion_cost(metadata.get("annotations", {})),
        created=_seconds(metadata["creationTimestamp"]),
        restarts=(max([one["restartCount"] for one in status.get("containerStatuses", [])], default=0), 0),
    )


def _seen(pod: Json) -> ObservedPod:
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
    asked = [one for kind in KINDS for one in scenarios(kind, RECORDED, KEPT)]
    with lzma.open(GOLDEN, "wt") as lines:
        for scenario, told in zip(asked, reference(command, asked), strict=True):
            lines.write(json.dumps({"scenario": scenario, "expected": shown(told)}, sort_keys=True) + "\n")


def main() -> None:
    command = Path(os.environ["HPA"])
    if "--record" in sys.argv:
        record(command)
        return
    options = hunt_options(KINDS)
    for kind in options.kinds:
        found = list(differing(command, scenarios(kind, options.seed, options.count)))
        print(f"{kind}: {len(found)} of {options.count} differ (seed {options.seed})", flush=True)
        for scenario, ours, theirs in found[: options.most]:
            print(json.dumps(scenario), f"engine    {json.dumps(ours)}", f"reference {json.dumps(theirs)}", sep="\n")


if __name__ == "__main__":
    main()
