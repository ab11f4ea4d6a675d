"""Live loops for tests, with plugins that let pods wait, and what must be equal where two snapshots are the same."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.config.specs import PluginSpec
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import SUCCESS, Code, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import BindPod, Intent, LiveLoop
from kschedweb.engine.releases import CURRENT, get_release, load
from tests.engine.gangs import ON

HOLDER, WAITER = "Holder", "Waiter"
HOUR = 3600.0


class Waits:
    """Lets pods with the label ``name`` wait at Permit."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds

    def permit(self, cycle: Cycle, node: str) -> tuple[Status, float]:
        if self.name not in cycle.pod.labels:
            return SUCCESS, 0.0
        cycle.approval_requests[self.name] = self.ask(cycle, node)
        return Status(Code.WAIT), self.seconds

    def ask(self, cycle: Cycle, node: str) -> Json:
        assert cycle.decision is not None
        return {"node": node, "margin": cycle.decision.margin}


PLUGINS = {name: Waits(name, seconds) for name, seconds in ((HOLDER, HOUR), (WAITER, 90.0))}


def configuration(release: Release = CURRENT, **profile: Any) -> Configuration:
    specs = [PluginSpec(name, frozenset({"permit"}), "Waits.") for name in PLUGINS]
    enabled = {"multiPoint": {"enabled": [{"name": name} for name in PLUGINS]}}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": enabled, **profile}],
    }
    loaded = load(document, release=release.with_plugins(*specs))
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


CONFIGURATION, WITH_GROUPS = configuration(), configuration(get_release("1.37", ON))


def make_registry(configured: Configuration = CONFIGURATION) -> dict[str, Any]:
    return {**configured.release.factories, **{name: partial(_plugin, name) for name in PLUGINS}}


def _plugin(name: str, args: Json) -> Waits:
    return PLUGINS[name]


def live(configured: Configuration = CONFIGURATION, **how: Any) -> LiveLoop:
    return LiveLoop(configured, registry=make_registry(configured), holds=frozenset({HOLDER}), **how)


def versioned(raw: Json, version: int = 1, uid: str = "") -> Json:
    raw["metadata"].update(resourceVersion=str(version), uid=uid or f"uid of {raw['metadata']['name']}")
    return raw


def drain(loop: LiveLoop, now: float) -> list[Intent]:
    """Try every pod that is there to be tried; each binding is taken to be accepted."""
    intents: list[Intent] = []
    while loop.is_ready:
        intents_of_step = loop.step(now)
        for intent in intents_of_step:
            if isinstance(intent, BindPod):
                loop.on_bound(intent.pod.uid, now)
        intents += intents_of_step
    return intents


def contents(snapshot: Snapshot) -> Json:
    """Everything in the columns of a snapshot, by name of the node."""
    tables: Json = {}
    for position, name in enumerate(snapshot.names):
        amounts = {
            resource: (int(snapshot.allocatable[row, position]), int(snapshot.requested[row, position]))
            for resource, row in snapshot.resources.items()
            if snapshot.allocatable[row, position] or snapshot.requested[row, position]
        }
        codes, taints = snapshot.taint_sets()
        tables[name] = {
            "amounts": amounts,
            "nonzero": snapshot.nonzero[:, position].tolist(),
            "pods": (int(snapshot.pod_count[position]), int(snapshot.pod_limit[position])),
            "names": sorted(pod.key for pod in snapshot.pods.pods_on(position)),
            "uids": sorted(pod.uid for pod in snapshot.pods.pods_on(position)),
            "ports": sorted(
                (port, ip) for port, ips in snapshot.ports.items() for ip, counts in ips.items() if counts[position]
            ),
            "unschedulable": bool(snapshot.unschedulable[position]),
            "taints": taints[int(codes[position])],
            "labels": snapshot.nodes[position].labels,
            "raw": snapshot.nodes[position].raw["metadata"]["resourceVersion"],
            "zone": snapshot.label_column("zone").values[code]
            if (code := snapshot.label_column("zone").codes[position]) >= 0
            else "",
            "images": sorted((image, size) for image, (size, rows) in snapshot.images.items() if position in rows),
            "attached": int(snapshot.volume_use.attached_counts("csi.example")[position]),
            "errors": snapshot.volume_use.errors_by_node().get(position, ""),
        }
    return tables


def judgements(snapshot: Snapshot, probes: Iterable[Json]) -> list[Json]:
    """Return a scheduler's verdicts and scores, by node name, for pods that are not in its snapshot."""
    scheduler = Scheduler(snapshot, CONFIGURATION, make_registry())
    results = []
    for raw in probes:
        answer = scheduler.explain(Pod.from_json(raw))
        names = [answer.nodes[row] for row in answer.feasible]
        verdicts = {name: verdict.reasons if (verdict := answer.verdict(name)) else () for name in sorted(answer.nodes)}
        scores = {
            column.plugin: dict(sorted(zip(names, column.weighted.tolist(), strict=True))) for column in answer.scores
        }
        results.append({"verdicts": verdicts, "scores": scores, "message": answer.message})
    return results
