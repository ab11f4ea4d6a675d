"""Plugins that weigh real use: scoring 5,000 nodes for a pod, beside the same rules node by node in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle, ScorePlugin
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.state.columns import ALL
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.bench import workloads
from tests.bench.conftest import measure_milliseconds
from tests.support import trimaran_by_hand as by_hand
from tests.support.trimaran_by_hand import Machine

NODES, PODS_A_NODE, PLACED = 5000, 10, 20
NOW = 1_790_000_000.0
KEYS = ("5m", "15m", "1h", "1d", "1h_max", "1d_max", "15m_std")
LIMIT = 10.0  # milliseconds of a core a pod
FASTER = 20  # than by hand, at least
MODEL = {"k0": 300.0, "k1": 50.0, "k2": 0.01}
RESOURCES = {"requests": {"cpu": "100m", "memory": "500Mi"}, "limits": {"cpu": "300m", "memory": "800Mi"}}
BY_HAND: dict[str, Callable[[Machine, Any], float]] = {
    "TargetLoadPacking": by_hand.packing,
    "LoadVariationRiskBalancing": by_hand.variation,
    "LowRiskOverCommitment": by_hand.over_commitment,
    "Peaks": lambda machine, pod: by_hand.power_rise(machine, pod, MODEL),
}
SCORING = [spec.name for spec in CURRENT.registry.specs.values() if spec.load_aware]


def pod(name: str, node: int | None = None) -> dict[str, Any]:
    raw = workloads.pod(name, node_number=node)
    raw["spec"]["containers"][0]["resources"] = RESOURCES
    return raw


@pytest.fixture(scope="module")
def machines() -> list[Machine]:
    """Nodes in the order in which the scheduler walks them."""
    generator = np.random.default_rng(20261121)
    nodes = {raw["metadata"]["name"]: raw for raw in (workloads.node(number) for number in range(NODES))}
    machine_list = []
    for position, name in enumerate(Snapshot.from_objects(nodes.values()).names):
        figures = {
            resource: dict(zip(KEYS, generator.uniform(1, 60, 7).tolist(), strict=True))
            for resource in ("cpu", "memory")
        }
        pods = [pod(f"pod-{position}-{at}", int(name.removeprefix("node-"))) for at in range(PODS_A_NODE)]
        machine_list.append(Machine(nodes[name], figures, NOW, pods))
    return machine_list


@pytest.fixture
def snapshot(machines: list[Machine]) -> Snapshot:
    cluster_snapshot = Snapshot.from_objects(
        [*(machine.node for machine in machines), *(raw for machine in machines for raw in machine.pods)]
    )
    figures = {
        (resource, key): np.array([machine.figures[resource][key] for machine in machines])
        for resource in ("cpu", "memory")
        for key in KEYS
    }
    cluster_snapshot.watermarks = Watermarks(cluster_snapshot.names, np.full(NODES, NOW), figures)
    cluster_snapshot.now = NOW + 30
    return cluster_snapshot


@pytest.mark.parametrize("name", SCORING)
def test_scoring_by_real_use(
    name: str, snapshot: Snapshot, machines: list[Machine], report: Callable[..., None]
) -> None:
    args = {"nodePowerModel": dict.fromkeys(snapshot.names, MODEL)} if name == "Peaks" else {}
    config = {"name": name, "args": args}
    profile = {"plugins": {"score": {"enabled": [{"name": name}]}}, "pluginConfig": [config] if args else []}
    configuration = load({**workloads.CONFIG, "profiles": [profile]}).configuration
    assert configuration is not None
    plugin = CURRENT.factories[name](configuration.profiles[0].args.get(name, {}))
    assert isinstance(plugin, ScorePlugin)
    raw = pod("new")
    new_pod = Pod.from_json(raw)
    plugin.score(Cycle(snapshot, new_pod), ALL)  # what is kept between pods is made once
    milliseconds = []
    for number in range(PLACED):
        snapshot.place_pod(Pod.from_json(pod(f"placed-{number}")), snapshot.names[number])
        milliseconds.append(measure_milliseconds(lambda: plugin.score(Cycle(snapshot, new_pod), ALL)))
    remark = ""
    if name in BY_HAND:
        slow = measure_milliseconds(lambda: [BY_HAND[name](machine, raw) for machine in machines])
        times = slow / float(np.median(milliseconds))
        remark = f"{times:,.0f} times as fast as node by node"
        assert times >= FASTER, remark
    report(f"{name}, 5,000 nodes", milliseconds, LIMIT, remark)
