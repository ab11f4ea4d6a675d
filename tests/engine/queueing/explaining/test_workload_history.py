"""The history of a Workload, from its conditions alone and from recorded states."""

from __future__ import annotations

import copy
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.explaining.workload_history import StepKind, list_steps

# 2026-01-15T12:00:00Z
NOON = 1768478400.0


def make_condition(kind: str, status: str, reason: str, message: str, minute: int) -> Json:
    moment = f"2026-01-15T12:{minute:02}:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": moment}


def make_state(*conditions: Json, **spec: Any) -> Json:
    metadata = {"name": "job", "namespace": "ml", "uid": "u", "creationTimestamp": "2026-01-15T12:00:00Z"}
    pod_set = {"name": "main", "count": 3, "template": {"spec": {"containers": []}}}
    return {
        "kind": "Workload", "apiVersion": "kueue.x-k8s.io/v1beta2", "metadata": metadata,
        "spec": {"queueName": "a", "priority": 10, "podSets": [pod_set], **spec},
        "status": {"conditions": list(conditions)},
    }  # fmt: skip


PENDING = make_condition("QuotaReserved", "False", "Pending", "insufficient unused quota, 4 more needed", 0)
LESS = make_condition("QuotaReserved", "False", "Pending", "insufficient unused quota, 1 more needed", 0)
RESERVED = make_condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue a", 5)
ADMITTED = make_condition("Admitted", "True", "Admitted", "The workload is admitted", 5)
EVICTED = make_condition("Evicted", "True", "Preempted", "Preempted to accommodate a workload", 9)
PREEMPTED = make_condition("Preempted", "True", "InCohortReclamation", "Preempted to accommodate a workload", 9)
RELEASED = make_condition("QuotaReserved", "False", "Pending", "Preempted to accommodate a workload", 10)


def with_admission(raw: Json) -> Json:
    assignment = {"name": "main", "count": 2, "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "2"}}
    raw["status"]["admission"] = {"clusterQueue": "a", "podSetAssignments": [assignment]}
    return raw


def test_conditions_alone_tell_when_each_changed_last() -> None:
    steps = list_steps([(None, with_admission(make_state(RESERVED, ADMITTED)))])
    assert [(step.at - NOON, step.kind, step.flavors, step.pods) for step in steps] == [
        (0.0, StepKind.CREATED, (), 3),
        (300.0, StepKind.QUOTA, ("spot",), 2),
        (300.0, StepKind.ADMITTED, (), 0),
    ]
    assert not any(step.is_recorded for step in steps)


def test_recorded_states_tell_what_conditions_forget() -> None:
    running = with_admission(make_state(RESERVED, ADMITTED))
    evicted = copy.deepcopy(running)
    evicted["status"]["conditions"] += [EVICTED, PREEMPTED]
    released = make_state(RELEASED, EVICTED, PREEMPTED, make_condition("Admitted", "False", "NoReservation", "", 10))
    states = [
        (NOON + 1, make_state(PENDING)),
        (NOON + 60, make_state(PENDING)),
        (NOON + 120, make_state(LESS)),
        (NOON + 300, running),
        (NOON + 540, evicted),
        (NOON + 600, released),
        (NOON + 660, make_state(RELEASED, EVICTED, PREEMPTED, priority=50)),
        (NOON + 700, None),
    ]
    steps = list_steps(states)
    assert [(step.kind, step.at - NOON) for step in steps] == [
        (StepKind.CREATED, 0.0),
        (StepKind.WAITS, 0.0),
        (StepKind.WAITS, 120.0),
        (StepKind.QUOTA, 300.0),
        (StepKind.ADMITTED, 300.0),
        (StepKind.EVICTED, 540.0),
        (StepKind.PREEMPTED, 540.0),
        (StepKind.RELEASED, 600.0),
        (StepKind.PRIORITY, 660.0),
        (StepKind.DELETED, 700.0),
    ]
    assert [step.message for step in steps if step.kind is StepKind.WAITS] == [PENDING["message"], LESS["message"]]
    assert next(step.reason for step in steps if step.kind is StepKind.PREEMPTED) == "InCohortReclamation"


def test_a_workload_of_the_same_name_begins_anew() -> None:
    again = make_state({**PENDING, "lastTransitionTime": "2026-01-15T12:30:00Z"})
    again["metadata"] |= {"uid": "v", "creationTimestamp": "2026-01-15T12:30:00Z"}
    steps = list_steps([(NOON, make_state(PENDING)), (NOON + 60, None), (NOON + 1800, again)])
    assert [step.kind for step in steps] == [
        StepKind.CREATED, StepKind.WAITS, StepKind.DELETED, StepKind.CREATED, StepKind.WAITS,
    ]  # fmt: skip


def test_a_state_that_cannot_be_read_is_left_out() -> None:
    broken = make_state(PENDING)
    broken["spec"]["podSets"] = "none"
    assert [step.kind for step in list_steps([(NOON, broken), (NOON + 1, make_state(PENDING))])] == [
        StepKind.CREATED,
        StepKind.WAITS,
    ]
