"""A try looked at again is the try that the run made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.simulation import Event, PodArrives, PodLeaves, Settings
from kschedweb.engine.whatif.deciding import NoSuchTryError, decide
from kschedweb.engine.whatif.prepared import Prepared
from kschedweb.engine.whatif.run import run
from tests.engine.builders import node, pod
from tests.engine.whatif.worlds import configuration, crowd


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), chosen=st.integers(0, 10_000), strategy=st.sampled_from(["", "MostAllocated"]))
def test_the_last_try_of_a_pod_comes_to_what_it_came_to_in_the_run(seed: int, chosen: int, strategy: str) -> None:
    prepared = crowd(seed)
    outcome = run(prepared, configuration(strategy))
    tried = np.flatnonzero(outcome.attempts > 0)
    row = int(tried[chosen % len(tried)])
    decided = decide(prepared, configuration(strategy), outcome.pods[row], attempts=int(outcome.attempts[row]))
    if outcome.node[row] >= 0:
        # The run may have lost the node while the try went on; it bound the pod to what the last try found.
        assert decided.placement.node == outcome.nodes[outcome.node[row]]
        assert decided.time == pytest.approx(outcome.bound[row] - prepared.settings.cycle)
        assert decided.explanation.chosen is not None
        best = {decided.explanation.nodes[place] for place in decided.explanation.best}
        assert decided.placement.node in best | {decided.pod.nominated_node}
    else:
        assert decided.placement.condition == outcome.texts[outcome.message[row]]
        assert decided.explanation.chosen is None


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_try_is_found_without_the_outcome_too(seed: int) -> None:
    prepared = crowd(seed)
    outcome = run(prepared, configuration())
    row = int(np.argmax(outcome.attempts))
    decided = decide(prepared, configuration(), outcome.pods[row])
    assert decided.attempt == decided.attempts == outcome.attempts[row]
    first = decide(prepared, configuration(), outcome.pods[row], 1)
    assert first.time <= decided.time
    assert first.attempt == 1


def test_earlier_tries_are_seen_as_they_were() -> None:
    events: list[Event] = [
        PodArrives(0.0, pod("first", requests={"cpu": "3"}), 30.0),
        PodArrives(1.0, pod("second", requests={"cpu": "3"})),
    ]
    prepared = Prepared([node("only")], events, 100.0, Settings(cycle=0.0))
    assert decide(prepared, configuration(), "default/second", 1).placement.message.endswith("1 Insufficient cpu.")
    last = decide(prepared, configuration(), "default/second")
    assert (last.placement.node, last.attempt) == ("only", 2)
    assert last.snapshot.pod_count.tolist() == [0]
    assert last.explanation.nodes == ["only"]


def test_of_pods_of_one_name_the_last_is_meant() -> None:
    again = pod("again", requests={"cpu": "3"}, terminationGracePeriodSeconds=0)
    events: list[Event] = [
        PodArrives(0.0, again),
        PodLeaves(10.0, "default/again"),
        PodArrives(20.0, again),
    ]
    prepared = Prepared([node("only")], events, 100.0, Settings(cycle=0.0))
    assert decide(prepared, configuration(), "default/again").time == 20.0


@pytest.mark.parametrize(
    ("key", "attempt", "said"),
    [
        ("default/nobody", -1, "Pod default/nobody: was never tried in this run"),
        ("default/one", 2, "Pod default/one: was tried 1 times in this run, there is no try 2"),
        ("default/one", 0, "there is no try 0"),
    ],
)
def test_what_never_was_is_said_to_be_none(key: str, attempt: int, said: str) -> None:
    prepared = Prepared([node("only")], [PodArrives(0.0, pod("one"))], 10.0)
    with pytest.raises(NoSuchTryError, match=said):
        decide(prepared, configuration(), key, attempt)
