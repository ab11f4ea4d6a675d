"""The order of victims: by priority, then by their start; those that have not started stay as the node lists them."""

from __future__ import annotations

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.preemption.importance import by_importance
from kschedweb.engine.preemption.rules import PreemptionRules
from tests.engine.builders import pod

EARLY = {"startTime": "2026-01-01T00:00:00Z"}


def waiting(count: int) -> list[Pod]:
    """More pods than an insertion sort orders, on which Go's sort would mix up equal ones."""
    return [Pod.from_json(pod(f"p{number:02}", on="a")) for number in range(count)]


def test_pods_that_have_not_started_stay_in_the_order_of_the_node() -> None:
    listed = waiting(40)
    assert by_importance(listed, listed, PreemptionRules()) == listed
    assert by_importance(listed[20:] + listed[:20], listed, PreemptionRules()) == listed


def test_they_come_after_those_that_run_and_before_those_of_lower_priority() -> None:
    first, second = waiting(2)
    running = Pod.from_json({**pod("running", on="a"), "status": EARLY})
    low = Pod.from_json({**pod("low", on="a", priority=-1), "status": EARLY})
    listed = [low, first, running, second]
    assert by_importance(listed, listed, PreemptionRules()) == [running, first, second, low]


def test_up_to_1_36_the_clock_that_is_read_each_time_mixes_them_up() -> None:
    listed = waiting(40)
    mixed = by_importance(listed, listed, PreemptionRules(unstarted_by_clock=True))
    assert mixed != listed
    assert sorted(candidate.name for candidate in mixed) == [candidate.name for candidate in listed]


def test_since_1_38_the_lower_uid_decides_between_equal_starts() -> None:
    raw_pods = [pod(name, on="a") for name in ("p0", "p1", "p2")]
    for raw, uid in zip(raw_pods, "cab", strict=True):
        raw["metadata"]["uid"] = uid
    listed = [Pod.from_json(raw) for raw in raw_pods]
    ordered = by_importance(listed, listed, PreemptionRules(ties_by_uid=True))
    assert [victim.name for victim in ordered] == ["p1", "p2", "p0"]
