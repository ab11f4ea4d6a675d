"""Placements of two clusters' pods by kube-scheduler of each release, recorded from their oracles.

python -m tests.conformance.upgrades FOLDER … takes a folder for each release that is to be recorded, which
has its oracle and is named after its version, and writes recorded/upgrades.jsonl.xz: those of other releases stay.
"""

from __future__ import annotations

import json
import lzma
import re
import sys
from collections.abc import Callable
from pathlib import Path

from kschedweb.clusters import demo
from kschedweb.clusters.kinds import QUEUE_KINDS
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.raw_pods import unbind_pod
from kschedweb.engine.studies.gate.gate import prepared_of
from tests.conformance.hunting import name_of
from tests.conformance.reference import Reference
from tests.support import openb
from tests.support.demo import without_groups

GOLDENS = Path(__file__).with_name("recorded") / "upgrades.jsonl.xz"
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 1}
PODS = 8152
# The objects of each cluster: the demo, and the recorded one with its first pods, so many of them.
CLUSTERS: dict[str, Callable[[int], list[Json]]] = {
    "demo": lambda _: without_groups(demo.generate_cluster()),
    "openb": lambda pods: [*openb.nodes(), *openb.pods(pods)],
}


def scenario(name: str, listed: list[Json]) -> Json:
    """Make the scenario of the upgrade report for a cluster: all pods are placed anew, but those of DaemonSets.

    Pods with scheduling gates are left out: the oracle does not look at gates. It has no kinds of Kueue either.
    """
    objects = [raw for raw in prepared_of(listed).objects if raw["kind"] not in QUEUE_KINDS]
    bound_names = {name_of(raw) for raw in objects if raw["kind"] == "Pod"}
    pods = [raw for raw in listed if raw["kind"] == "Pod" and name_of(raw) not in bound_names]
    pending = [unbind_pod(raw) for raw in sorted(pods, key=_turn) if not raw["spec"].get("schedulingGates")]
    return {"name": name, "config": CONFIG, "objects": objects, "pending": pending, "mode": "sequence"}


def _turn(pod: Json) -> tuple[int, str]:
    return -(pod["spec"].get("priority") or 0), pod["metadata"].get("creationTimestamp") or ""


def placed(reference: Reference, question: Json) -> dict[str, str]:
    """The node of each pod, "" for none."""
    (answer,) = reference.answers("schedule", [question])
    return {placement["pod"]: placement.get("node", "") for placement in answer["placements"]}


def read_lines() -> list[str]:
    """The recorded lines, one a release."""
    return lzma.decompress(GOLDENS.read_bytes()).decode().splitlines()


def main(folders: list[str]) -> None:
    questions = [scenario(name, listed(PODS)) for name, listed in CLUSTERS.items()]
    line_by_release = {json.loads(line)["release"]: line for line in read_lines()}
    for folder in map(Path, folders):
        match = re.search(r"v(1\.\d+)\.", folder.name)
        if match is None:
            raise SystemExit(f"{folder}: is not named after a version")
        nodes = {question["name"]: placed(Reference(folder), question) for question in questions}
        line_by_release[match[1]] = json.dumps({"release": match[1], "clusters": nodes})
    lines = [line_by_release[release] for release in sorted(line_by_release)]
    GOLDENS.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode()))


if __name__ == "__main__":
    main(sys.argv[1:])
