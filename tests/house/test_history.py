"""The checker of histories: it finds nothing where all promises were kept, and each broken one by its name."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from tests.support.history import History, PodFacts, Request, amount, violations

NUMBERS = itertools.count()
ROOM = {"cpu": "1", "memory": "1Gi", "pods": "3"}


def event(
    at: float, verb: str, resource: str, *, answer: Json, code: int = 200, body: Json | None = None, **fields: Any
) -> Json:
    """One line of an audit log; the call took 20 ms and ended at second ``at``."""
    place = {"resource": resource, "namespace": "default", "name": answer.get("metadata", {}).get("name", "")}
    return {
        "auditID": f"call-{next(NUMBERS)}",
        "verb": verb,
        "objectRef": place | fields.pop("place", {}),
        "requestReceivedTimestamp": stamp(at - 0.02),
        "stageTimestamp": stamp(at),
        "responseStatus": {"code": code},
        "requestObject": body,
        "responseObject": answer,
        **fields,
    }


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def node(at: float, name: str = "one", **room: str) -> Json:
    return event(at, "patch", "nodes", answer={"kind": "Node", "metadata": {"name": name}, "status": status(room)})


def status(room: dict[str, str]) -> Json:
    return {"allocatable": ROOM | room}


def pod_json(name: str, **spec: Any) -> Json:
    container = {"name": "main", "resources": {"requests": {"cpu": "400m", "memory": "100Mi"}}}
    pod_spec = {"schedulerName": "mine", "containers": [container]} | spec
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": pod_spec}


def pod(at: float, name: str, verb: str = "create", **spec: Any) -> Json:
    return event(at, verb, "pods", answer=pod_json(name, **spec), code=201 if verb == "create" else 200)


def delete_event(at: float, name: str, grace: int = 0) -> Json:
    answer = pod_json(name)
    answer["metadata"] |= {"deletionGracePeriodSeconds": grace}
    return event(at, "delete", "pods", answer=answer)


def bind(at: float, name: str, to: str = "one", *, by: str = "a", code: int = 201, uid: bool = True) -> Json:
    body: Json = {"metadata": {"name": name} | ({"uid": f"uid-{name}"} if uid else {}), "target": {"name": to}}
    place = {"name": name, "subresource": "binding"}
    return event(at, "create", "pods", answer={}, code=code, body=body, place=place, userAgent=f"kschedweb/1 ({by})")


def lease(at: float, holder: str, epoch: int = 0) -> Json:
    spec = {"holderIdentity": holder, "leaseTransitions": epoch, "leaseDurationSeconds": 15}
    answer = {"kind": "Lease", "metadata": {"name": "mine", "namespace": "kube-system"}, "spec": spec}
    return event(at, "update", "leases", answer=answer)


def asks(pod: PodFacts) -> bool:
    return pod.key.endswith("/held")


GRANTED_REQUEST = Request("uid-held", "default/held", "one", "bound", "", 10.0)
GOOD = [
    lease(0, "a"),
    node(1),
    pod(2, "x"),
    pod(2, "held", schedulingGates=[{"name": "wait"}]),
    pod(3, "held", "patch"),
    pod(3, "foreign", schedulerName="theirs"),
    lease(4, "a"),
    bind(5, "x"),
    bind(6, "x", code=409),
    bind(11, "held"),
    lease(12, "", 0),
    lease(13, "b", 1),
    delete_event(14, "x"),
    pod(15, "y"),
    bind(16, "y", by="b"),
]


def judge(events: list[Json], requests: tuple[Request, ...] = (GRANTED_REQUEST,), **options: Any) -> list[str]:
    history = History.from_events(events)
    return violations(history, scheduler="mine", lease="kube-system/mine", requests=requests, asks=asks, **options)


def test_history_in_which_all_was_kept_has_no_violation() -> None:
    assert judge(GOOD) == []
    assert [binding.pod for binding in History.from_events(GOOD).made_binds()] == [
        "default/x",
        "default/held",
        "default/y",
    ]


@pytest.mark.parametrize(
    ("extra_events", "words"),
    [
        ([bind(17, "y", "one", by="b")], "default/y (uid-y) was bound 2 times: to one, one."),
        ([pod(17, "z"), bind(18, "z", by="b", uid=False)], "by its name alone"),
        ([bind(18, "never-made", by="b")], "knows no such pod"),
        ([bind(18, "foreign", by="b")], "default/foreign was bound, which is theirs's and not mine's."),
        ([pod(17, "z", schedulingGates=[{"name": "wait"}]), bind(18, "z", by="b")], "while it had scheduling gates"),
        ([pod(17, "z"), delete_event(18, "z", grace=30), bind(19, "z", by="b")], "while it was being deleted"),
        ([pod(17, "z", nodeName="two"), bind(19, "z", by="b")], "was made on two"),
        ([pod(17, "z"), bind(18, "z", by="a")], "default/z was bound by a while b held the lease."),
        ([lease(16.5, "", 1), pod(17, "z"), bind(18, "z", by="b")], "while nobody held the lease"),
        ([pod(17, "z"), bind(28.5, "z", by="b")], "was bound by b 15.5 s after it renewed the lease."),
        ([pod(17, "z"), bind(18, "z", "elsewhere", by="b")], "came to elsewhere, and the history knows no such node"),
        ([pod(17, "z"), bind(18, "z", by="b")], "one was given 1.2 of cpu with default/z, and has 1."),
        ([node(17, memory="250Mi"), pod(17, "z"), bind(18, "z", by="b")], "of memory"),
        ([node(17, cpu="9", pods="2"), pod(17, "z"), bind(18, "z", by="b")], "one was given 3 of pods"),
        ([pod(17, "z", nodeName="one")], "one was given 1.2 of cpu"),
    ],
)  # fmt: skip
def test_broken_promise_is_named(extra_events: list[Json], words: str) -> None:
    problems = judge(GOOD + extra_events)
    assert any(words in sentence for sentence in problems), problems


@pytest.mark.parametrize(
    ("request_row", "words"),
    [
        (None, "default/held was bound without an approval."),
        (replace(GRANTED_REQUEST, granted=None), "default/held was bound without an approval."),
        (replace(GRANTED_REQUEST, granted=11.5), "was bound before it was approved"),
        (replace(GRANTED_REQUEST, node="two"), "was bound to one, and approved for two."),
        (replace(GRANTED_REQUEST, state="binding"), "The request for default/held did not end: it is binding."),
        (replace(GRANTED_REQUEST, state="failed", reason="gone"), "is on one, and no request of it says bound."),
        (replace(GRANTED_REQUEST, uid="uid-other", node="two"), "says bound to two; it is on None."),
        (replace(GRANTED_REQUEST, uid="uid-other", state="denied"), "ended denied without a reason."),
    ],
)
def test_broken_promise_of_approvals_is_named(request_row: Request | None, words: str) -> None:
    problems = judge(GOOD, (request_row,) if request_row else ())
    assert any(words in sentence for sentence in problems), problems


def test_what_a_killed_server_could_not_write_down_is_taken_from_the_list() -> None:
    unwritten = [
        event_recorded for event_recorded in GOOD if event_recorded["objectRef"] != bind(11, "held")["objectRef"]
    ]
    assert judge(unwritten) == ["The request for default/held says bound to one; it is on None."]
    assert judge(unwritten, bound_nodes={"uid-held": "one"}) == []
    assert judge(unwritten, bound_nodes={"uid-held": "two"}) == [
        "The request for default/held says bound to one; it is on two."
    ]


def test_bind_counts_from_when_it_was_sent_where_a_proxy_held_it_back() -> None:
    late = bind(18, "z", by="a")
    events = [*GOOD, node(16.5, cpu="9"), pod(17, "z"), late]
    assert judge(events) == ["default/z was bound by a while b held the lease."]
    assert judge(events, departures={late["auditID"]: 4.5}) == []


def test_bind_while_its_sender_takes_the_lease_is_the_holder_s() -> None:
    taking = lease(18.01, "c", 2) | {"requestReceivedTimestamp": stamp(17.95)}
    events = [*GOOD, node(16.5, cpu="9"), pod(17, "z"), taking, bind(18, "z", by="c")]
    assert judge(events) == []


def test_room_of_a_deleted_pod_is_free_and_that_of_one_with_grace_is_not() -> None:
    extra_events = [pod(17, "z"), bind(20, "z", by="b")]
    assert judge([*GOOD, delete_event(19, "y"), *extra_events]) == []
    assert judge([*GOOD, delete_event(19, "y", grace=30), *extra_events]) != []


def test_init_containers_count_where_they_ask_for_more() -> None:
    first = {"name": "first", "resources": {"requests": {"cpu": "900m"}}}
    assert judge([*GOOD, node(17, cpu="1500m"), pod(17, "z", initContainers=[first]), bind(18, "z", by="b")]) != []
    assert judge([*GOOD, node(17, cpu="1700m"), pod(17, "z", initContainers=[first]), bind(18, "z", by="b")]) == []


@pytest.mark.parametrize(
    ("text", "value"), [("250m", 0.25), ("2", 2), ("1Ki", 1024), ("1.5Gi", 1.5 * 2**30), ("3k", 3000)]
)
def test_quantities(text: str, value: float) -> None:
    assert amount(text) == value


def test_quantity_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no quantity"):
        amount("5 apples")


def test_who_leads_is_also_read_from_annotations() -> None:
    record = {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaderTransitions": 4}
    annotations = {"control-plane.alpha.kubernetes.io/leader": json.dumps(record)}
    metadata = {"name": "mine", "namespace": "kube-system"}
    annotated, plain = (
        {"kind": "Endpoints", "metadata": object_metadata}
        for object_metadata in (metadata | {"annotations": annotations}, metadata)
    )
    events = [event(at, "update", "endpoints", answer=answer) for at, answer in ((1, plain), (2, annotated))]
    [write] = History.from_events(events).leases
    assert (write.lease, write.holder, write.epoch, write.seconds) == ("kube-system/mine", "a", 4, 15)
