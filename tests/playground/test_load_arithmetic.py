"""The arithmetic shown for a load-aware score comes to the engine's own, whatever the cluster and its figures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.framework.status import CycleError
from kschedweb.playground import arithmetic
from kschedweb.playground.load_arithmetic import WORKED
from kschedweb.playground.sides import Side, all_sides, policies

from .load_cases import clusters, decided

weight = st.one_of(st.just(0.0), st.floats(0.01, 5), st.integers(1, 3).map(float))


def positive(*names: str) -> st.SearchStrategy[dict[str, float]]:
    """Weights of ``names``, at least one of which counts."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, weight)).filter(lambda found: any(found.values()))


ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "HheWaterLevelBalance": {
        "clusterCpuMinNodeWeight": weight,
        "windowWeights": positive("15m", "1h", "1d"),
        "resourceWeights": positive("cpu", "memory"),
        "clusterCpu": st.sampled_from((0.0, 20.0, 61.5, 100.0)),
        "clusterMemory": st.floats(0, 100),
        "metricsExpiration": st.sampled_from(("0s", "3m0s", "1h")),
        "missingMetrics": st.sampled_from(("Zero", "Idle")),
        "scheduledPodsCleanUp": st.sampled_from(("0s", "5m0s")),
    },
}


def test_every_load_aware_policy_is_worked_out() -> None:
    assert set(WORKED) == set(policies()) == set(ARGUMENTS)


@pytest.mark.parametrize("plugin", policies())
@settings(max_examples=150)
@given(data=st.data())
def test_the_steps_come_to_the_score_of_the_engine(plugin: str, data: st.DataObject) -> None:
    arguments = data.draw(st.fixed_dictionaries({}, optional=ARGUMENTS[plugin]), label="arguments")
    form = data.draw(st.sampled_from([side for side in all_sides() if side.plugin == plugin]), label="form")
    snapshot, asked = data.draw(clusters(), label="cluster")
    if data.draw(st.integers(0, 9), label="figures") == 0:
        snapshot.watermarks = None
    try:
        decision = decided(snapshot, asked, Side(form.key, plugin, form.label, "", {**arguments, **form.args}))
    except CycleError:
        return  # as kube-scheduler's would: a score beyond 100
    for column in decision.explanation.scores:
        for index, node in enumerate(decision.explanation.feasible.tolist()):
            shown = arithmetic.explain(decision, node, plugin)
            assert shown.computed == int(column.raw[index])
            assert shown.steps[-2].result == str(int(column.weighted[index]))
            assert snapshot.watermarks is not None or shown.notes
