"""The search for flavors: which of two modes is better, when it goes on, and where it resumes."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import product

import pytest

from kschedweb.engine.queueing.cycle.assignment import PreemptionMode
from kschedweb.engine.queueing.cycle.flavor_assigner import GranularMode, is_preferred, should_try_next_flavor
from kschedweb.engine.queueing.quota.objects import FlavorFungibility
from kschedweb.engine.queueing.scenario import answer_scenario
from tests.engine.queueing.test_scenario import make_scenario, make_workload

BORROWING, PREEMPTION = (
    FlavorFungibility("TryNextFlavor", "TryNextFlavor", f"{preference}")
    for preference in ("BorrowingOverPreemption", "PreemptionOverBorrowing")
)
MODES = [GranularMode(mode, borrow) for mode, borrow in product(PreemptionMode, (0, 1, 2))]


@pytest.mark.parametrize("fungibility", [FlavorFungibility(), BORROWING, PREEMPTION])
def test_modes_are_ordered_without_circles(fungibility: FlavorFungibility) -> None:
    fitting = [mode for mode in MODES if mode.mode != PreemptionMode.NO_FIT]

    def compare(mode: GranularMode, other: GranularMode) -> int:
        return is_preferred(mode, other, fungibility) - is_preferred(other, mode, fungibility)

    ordered = sorted(fitting, key=cmp_to_key(compare))
    assert ordered[-1] == GranularMode(PreemptionMode.FIT, 0)
    for place, mode in enumerate(ordered):
        assert not any(is_preferred(mode, later, fungibility) for later in ordered[place + 1 :])


def test_the_preference_decides_between_borrowing_and_preempting() -> None:
    borrows, preempts = GranularMode(PreemptionMode.FIT, 1), GranularMode(PreemptionMode.RECLAIM, 0)
    assert is_preferred(borrows, preempts, BORROWING)
    assert is_preferred(preempts, borrows, PREEMPTION)


def test_the_search_stops_where_the_policy_says() -> None:
    borrows, preempts = GranularMode(PreemptionMode.FIT, 1), GranularMode(PreemptionMode.PREEMPT, 0)
    stops = FlavorFungibility("MayStopSearch", "MayStopSearch")
    assert [should_try_next_flavor(mode, stops) for mode in (borrows, preempts)] == [False, False]
    assert [should_try_next_flavor(mode, BORROWING) for mode in (borrows, preempts)] == [True, True]
    assert should_try_next_flavor(GranularMode(PreemptionMode.NO_CANDIDATES, 0), stops)


def test_a_search_that_stopped_resumes_after_its_flavor() -> None:
    """The first flavor is reclaimed; while its victim stops nothing is asked twice of the second."""
    scenario = make_scenario(make_workload("a", "4"), preemption={"withinClusterQueue": "LowerPriority"})
    (queue,) = (item for item in scenario["objects"] if item["kind"] == "ClusterQueue")
    quota = {"name": "g", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    queue["spec"]["resourceGroups"][0]["flavors"].append(quota)
    queue["spec"]["flavorFungibility"] = {"whenCanPreempt": "MayStopSearch"}
    scenario["objects"].append({**scenario["objects"][0], "metadata": {"name": "g"}})
    scenario["events"] = [{"before": 2, "apply": make_workload("b", "4", priority=5)}]
    answer = answer_scenario(scenario)
    attempts = answer["cycles"][1]["entries"][0]["attempts"]["main"]
    assert [(attempt["flavor"], attempt.get("preemption")) for attempt in attempts] == [("f", "Preempt")]
    assert answer["workloads"]["ns/b"]["admission"][0]["flavors"] == {"cpu": "f"}
    assert answer["workloads"]["ns/a"]["admission"][0]["flavors"] == {"cpu": "g"}
