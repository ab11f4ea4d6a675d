"""Objects that people write, drawn at random, and what an API server says of them.

    KUBEBUILDER_ASSETS=<folder with etcd and kube-apiserver> python -m tests.conformance.refused [--seed N] [--count N]

asks one with ``dryRun=All`` and records its answers.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.refusals import find_refusals
from tests.conformance.making.refused import KINDS, RefusedMaker
from tests.conformance.record import write

if TYPE_CHECKING:
    from tests.support.controlplane import ControlPlane

RECORDED = "refusals.jsonl.xz"
FAULTS = (0.0, 0.02, 0.05, 0.15)
SHARES = {"Pod": 10, "Node": 3}  # how many of a kind where others have one


def pod(**spec: Any) -> Json:
    containers = [{"name": "main", "image": "app:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": containers, **spec}}


def pod_requesting(**amounts: Any) -> Json:
    """A pod that asks for ``amounts``."""
    return pod(containers=[{"name": "main", "image": "app:1", "resources": {"requests": amounts}}])


NO_QUANTITIES: tuple[Any, ...] = ("abc", "1.2.3", "", "1 Gi", True, [])
BY_HAND = [
    pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
    pod(tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 5}]),
    *(pod_requesting(cpu=text) for text in NO_QUANTITIES),
    pod_requesting(cpu="1", memory="-1Gi"),
    pod(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}),
]


def draw_objects(seed: int, count: int) -> list[Json]:
    """``count`` objects of all kinds, from right ones to such with many faults."""
    kinds = [kind for kind in KINDS for _ in range(SHARES.get(kind, 1))]
    faults = [FAULTS[at // len(kinds) % len(FAULTS)] for at in range(count)]
    makers = [RefusedMaker(Random(f"{seed}/refused/{at}"), fault) for at, fault in enumerate(faults)]
    return [maker.object(kinds[at % len(kinds)]) for at, maker in enumerate(makers)]


def answer(server: ControlPlane, item: Json) -> Json:
    """Return the API server's answer to ``item``: ``fields`` are its sentences on fields, ``message`` all of it."""
    reply = server.request("POST", f"{KINDS[item['kind']][1]}?dryRun=All", item)
    body = reply.json()
    if reply.status < 300:
        return {"fields": [], "message": ""}
    causes = body.get("details", {}).get("causes", []) if reply.status == 422 else []
    return {"fields": sorted({f"{cause['field']}: {cause['message']}" for cause in causes}), "message": body["message"]}


def engine_answer(item: Json) -> Json:
    """Return the engine's answer in the same form, without an order of sentences: that is the API server's own."""
    refusals = find_refusals(item)
    fields = sorted(refusal.problem.text for refusal in refusals if " cannot be handled as a " not in refusal.text)
    return {"fields": fields, "message": refusals[0].text if len(refusals) == 1 else ""}


def same(expected: Json, ours: Json) -> bool:
    """Return whether the sentences are the same, and the whole message where there is one."""
    single = len(expected["fields"]) < 2
    return expected["fields"] == ours["fields"] and (not single or expected["message"] == ours["message"])


def main() -> None:
    from tests.support.controlplane import ControlPlane

    parser = argparse.ArgumentParser(description="Record what an API server refuses.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=600)
    options = parser.parse_args()
    objects = [*BY_HAND, *draw_objects(options.seed, options.count)]
    with tempfile.TemporaryDirectory() as folder:
        server = ControlPlane(Path(os.environ["KUBEBUILDER_ASSETS"]), Path(folder))
        with server.started():
            lines = [{"object": item, "expected": answer(server, item)} for item in objects]
    write(RECORDED, lines)


if __name__ == "__main__":
    main()
