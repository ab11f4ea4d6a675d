"""The arithmetic shown for a load-aware score comes to the engine's own, whatever the cluster and its figures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.decisions import arithmetic
from kschedweb.decisions.load_aware.sides import ScoringSide, all_sides, list_load_aware_plugins
from kschedweb.decisions.presenters import get_presenter
from kschedweb.decisions.presenters.base import Presenter
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.state.watermarks.crane import METRICS
from tests.decisions.load_cases import clusters, decide
from tests.support.tiers import count

metric = st.sampled_from((*METRICS, "gpu_usage"))
period = st.sampled_from(("0s", "1m0s", "15m0s", "3h0m0s"))
weight = st.one_of(st.just(0.0), st.floats(0.01, 5), st.integers(1, 3).map(float))


def positive(*names: str) -> st.SearchStrategy[dict[str, float]]:
    """Weights of ``names``, at least one of which counts."""
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, weight)).filter(
        lambda weights: any(weights.values())
    )


def positive_whole(*names: str) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, st.integers(1, 3))).filter(bool)


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
    "TidalCoLocation": {"pointsPerPercent": st.sampled_from((0.0, 2.5, 5.0, 20.0))},
    "TargetLoadPacking": {
        "targetUtilization": st.integers(1, 110),
        "defaultRequests": st.sampled_from(({"cpu": "500m"}, {"cpu": 2}, {})),
        "defaultRequestsMultiplier": st.sampled_from(("1", "1.5", "2.25")),
    },
    "LoadVariationRiskBalancing": {
        "safeVarianceMargin": st.floats(0, 3),
        "safeVarianceSensitivity": st.sampled_from((0.0, 0.5, 1.0, 2.0)),
    },
    "LowRiskOverCommitment": {
        "smoothingWindowSize": st.integers(1, 20),
        "riskLimitWeights": st.fixed_dictionaries({}, optional=dict.fromkeys(("cpu", "memory"), st.floats(0, 1))),
    },
    "Dynamic": {
        "policy": st.fixed_dictionaries(
            {},
            optional={
                "syncPolicy": st.lists(st.fixed_dictionaries({"name": metric, "period": period}), max_size=4),
                "priority": st.lists(st.fixed_dictionaries({"name": metric, "weight": weight}), max_size=4),
                "hotValue": st.lists(
                    st.fixed_dictionaries({"timeRange": period, "count": st.integers(1, 3)}), max_size=2
                ),
            },
        ),
        "timeZone": st.sampled_from(("UTC", "Asia/Shanghai")),
    },
    "LoadAwareScheduling": {
        "resourceWeights": positive_whole("cpu", "memory"),
        "dominantResourceWeight": st.integers(0, 3),
        "nodeMetricExpirationSeconds": st.sampled_from((30, 180, 1000)),
        "filterExpiredNodeMetrics": st.booleans(),
        "enableScheduleWhenNodeMetricsExpired": st.booleans(),
        "usageThresholds": st.fixed_dictionaries({}, optional=dict.fromkeys(("cpu", "memory"), st.integers(50, 100))),
        "estimatedScalingFactors": st.fixed_dictionaries({"cpu": st.integers(1, 100), "memory": st.integers(1, 100)}),
        "scoreAccordingProdUsage": st.booleans(),
        "estimatedSecondsAfterPodScheduled": st.integers(0, 1000),
    },
    "VolcanoUsage": {
        "cpu.weight": st.integers(0, 3),
        "memory.weight": st.integers(0, 3),
        "thresholds": st.fixed_dictionaries({}, optional=dict.fromkeys(("cpu", "mem"), st.integers(0, 100))),
        "estimator": st.fixed_dictionaries(
            {}, optional={"request_ratio": st.floats(0, 1), "risk_threshold": st.floats(0, 1)}
        ),
        "metricsInterval": st.sampled_from(("30s", "5m0s")),
    },
    "Peaks": {
        "nodePowerModel": st.dictionaries(
            st.sampled_from(("n0", "n1", "n2", "n3")),
            st.fixed_dictionaries({"k0": st.just(400.0), "k1": st.floats(-200, 200), "k2": st.floats(-0.1, 0.1)}),
        ),
    },
}


def test_every_load_aware_policy_is_worked_out() -> None:
    assert set(list_load_aware_plugins()) == set(ARGUMENTS)
    assert all(type(get_presenter(plugin)).work is not Presenter.work for plugin in list_load_aware_plugins())


@pytest.mark.parametrize("plugin", list_load_aware_plugins())
@settings(max_examples=count(30, 100))
@given(data=st.data())
def test_the_steps_come_to_the_score_of_the_engine(plugin: str, data: st.DataObject) -> None:
    arguments = data.draw(st.fixed_dictionaries({}, optional=ARGUMENTS[plugin]), label="arguments")
    form = data.draw(st.sampled_from([side for side in all_sides() if side.plugin == plugin]), label="form")
    snapshot, pod = data.draw(clusters(), label="cluster")
    if data.draw(st.integers(0, 9), label="figures") == 0:
        snapshot.watermarks = None
    try:
        decision = decide(snapshot, pod, ScoringSide(form.key, plugin, form.label, "", {**arguments, **form.args}))
    except CycleError:
        return  # as kube-scheduler's would: a score beyond 100
    for column in decision.explanation.scores:
        for index, node in enumerate(decision.explanation.feasible.tolist()):
            explained = arithmetic.explain_score(decision, decision.case, node, plugin)
            assert explained.computed == int(column.raw[index])
            assert explained.steps[-2].result == str(int(column.weighted[index]))
            assert snapshot.watermarks is not None or explained.notes or plugin == "Dynamic"
