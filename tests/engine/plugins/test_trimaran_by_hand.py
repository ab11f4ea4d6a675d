"""The plugins of scheduler-plugins against the same rules, written down node by node, on clusters of any shape."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT
from kschedweb.engine.state.columns import ALL
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.support import tiers
from tests.support import trimaran_by_hand as by_hand
from tests.support.trimaran_by_hand import Machine

NOW = 1_790_000_000
MODEL = {"k0": 300.0, "k1": 50.0, "k2": 0.01}

quantities = {
    "cpu": st.integers(0, 30).map(lambda tenths: f"{tenths}00m"),
    "memory": st.integers(0, 8).map("{}Gi".format),
}
percents = st.integers(0, 1100).map(lambda tenths: tenths / 10)
deviations = st.just(0.0) | st.integers(1, 400).map(lambda tenths: tenths / 10)


@st.composite
def resources(draw: st.DrawFn) -> Json:
    return {
        kind: {name: draw(amounts) for name, amounts in quantities.items() if draw(st.booleans())}
        for kind in ("requests", "limits")
    }


@st.composite
def pods(draw: st.DrawFn, name: str, on: str = "") -> Json:
    listed = [{"name": f"c{at}", "resources": draw(resources())} for at in range(draw(st.integers(1, 2)))]
    inits = [{"name": f"i{at}", "resources": draw(resources())} for at in range(draw(st.integers(0, 1)))]
    spec: Json = {"containers": listed, "initContainers": inits, "nodeName": on}
    if draw(st.booleans()):
        spec["overhead"] = {"cpu": "100m", "memory": "64Mi"}
    raw: Json = {"kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": {}}
    if draw(st.booleans()):
        time = datetime.fromtimestamp(NOW - draw(st.integers(-10, 130)), UTC)
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time.isoformat()}
        raw["status"]["conditions"] = [condition]
    return raw


@st.composite
def machines(draw: st.DrawFn, name: str) -> Machine:
    cpu = draw(st.integers(0, 16)) * 1000
    status: Json = {"allocatable": {"cpu": f"{cpu}m", "memory": f"{draw(st.integers(0, 64))}Gi", "pods": "99"}}
    if draw(st.booleans()):
        status["capacity"] = {"cpu": f"{cpu + draw(st.sampled_from([0, 500]))}m", "memory": "80Gi"}
    figures = {
        resource: {
            key: draw(values) for key, values in (("15m", percents), ("15m_std", deviations)) if draw(st.integers(0, 4))
        }
        for resource in ("cpu", "memory")
    }
    updated = NOW + draw(st.integers(-60, 60)) / 4 if draw(st.integers(0, 4)) else None
    machine_pods = [draw(pods(f"{name}-{at}", name)) for at in range(draw(st.integers(0, 3)))]
    raw = {"kind": "Node", "metadata": {"name": name}, "status": status}
    return Machine(raw, figures if updated else {}, updated, machine_pods)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Machine], Json]:
    return [draw(machines(f"n{at}")) for at in range(draw(st.integers(1, 4)))], draw(pods("new"))


def scored(plugin: str, args: Json, listed: list[Machine], raw: Json) -> dict[str, int]:
    snapshot = Snapshot.from_objects(
        [machine.node for machine in listed] + [pod for machine in listed for pod in machine.pods]
    )
    assert snapshot.problems == []
    node_figures = {
        machine.node["metadata"]["name"]: {"updated": machine.updated, **machine.figures}
        for machine in listed
        if machine.updated is not None
    }
    snapshot.watermarks = Watermarks.from_json({"nodes": node_figures}, snapshot.names)
    cycle = Cycle(snapshot, Pod.from_json(raw))
    plugin_object: Any = CURRENT.factories[plugin](args)
    return dict(zip(snapshot.names, plugin_object.score(cycle, ALL).tolist(), strict=True))


CASES: dict[str, tuple[str, Json, Callable[[Machine, Json], float]]] = {
    "target": ("TargetLoadPacking", {}, by_hand.packing),
    "fixed 50": (
        "TargetLoadPacking",
        {"targetUtilization": 10, "penalty": "Fixed50"},
        lambda machine, pod: by_hand.packing(machine, pod, 10.0, 50.0),
    ),
    "variation": ("LoadVariationRiskBalancing", {}, by_hand.variation),
    "margin and sensitivity": (
        "LoadVariationRiskBalancing",
        {"safeVarianceMargin": 2.5, "safeVarianceSensitivity": 2.0},
        lambda machine, pod: by_hand.variation(machine, pod, 2.5, 2.0),
    ),
    "over-commitment": ("LowRiskOverCommitment", {}, by_hand.over_commitment),
    "load alone": (
        "LowRiskOverCommitment",
        {"riskLimitWeights": {"cpu": 0.0, "memory": 0.0}, "smoothingWindowSize": 1},
        lambda machine, pod: by_hand.over_commitment(machine, pod, 0.0, 1),
    ),
}


@pytest.mark.parametrize("case", CASES)
@given(clusters())
@settings(max_examples=tiers.count(25, 200), deadline=None)
def test_scores_are_those_worked_out_by_hand(case: str, cluster: tuple[list[Machine], Json]) -> None:
    (plugin, args, formula), (listed, raw) = CASES[case], cluster
    node_scores = scored(plugin, args, listed, raw)
    for machine in listed:
        exact = formula(machine, raw)
        # Half a point, and what the last bits of another order of steps may make of it.
        assert abs(node_scores[machine.node["metadata"]["name"]] - exact) <= 0.5 + 1e-6


@given(clusters(), st.sets(st.sampled_from(["n0", "n1", "n2"])))
@settings(max_examples=tiers.count(25, 200), deadline=None)
def test_peaks_is_as_worked_out_by_hand(cluster: tuple[list[Machine], Json], modelled: set[str]) -> None:
    listed, raw = cluster
    models = dict.fromkeys(modelled, MODEL)
    node_scores = scored("Peaks", {"nodePowerModel": models}, listed, raw)
    for machine in listed:
        name = machine.node["metadata"]["name"]
        exact = by_hand.power_rise(machine, raw, models.get(name))
        assert node_scores[name] / 1e15 == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_the_incomplete_beta_function_of_both_agree() -> None:
    from kschedweb.engine.state.watermarks.beta import incomplete_beta

    generator = np.random.default_rng(5)
    a, b, x = (generator.uniform(low, high, 500) for low, high in ((0.05, 300), (0.05, 300), (0, 1)))
    expected = [
        by_hand.incomplete_beta(*arguments) for arguments in zip(x.tolist(), a.tolist(), b.tolist(), strict=True)
    ]
    assert incomplete_beta(x, a, b) == pytest.approx(np.array(expected), abs=1e-10)
