"""Work stops at the next checkpoint where nobody waits for it any longer."""

from __future__ import annotations

from threading import Condition, RLock, Thread, Timer
from time import monotonic
from typing import Any

import pytest

from kschedweb.engine.patience import (
    DeadlineExceeded,
    Patience,
    WorkAbandoned,
    checkpoint,
    hold_lock,
    limit_by,
    wait_for,
)
from tests.engine.builders import node, pod, scheduler

DRIVER = "d.example.com"
NUMBERS = "[" + ", ".join(map(str, range(220))) + "]"
# Within what one evaluation may take: some 0.5 s a device.
DEAR = f"{NUMBERS}.all(x, {NUMBERS}.all(y, device.attributes['{DRIVER}'].number + x + y >= 0))"


def cluster_with_dear_selector(devices: int) -> list[dict[str, Any]]:
    """A node with so many devices, none like another, and a pod whose claim asks each of them for long."""
    listed = [{"name": f"dev{place}", "attributes": {"number": {"int": place}}} for place in range(devices)]
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    slices = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"a-{first}"},
            "spec": {
                "driver": DRIVER,
                "nodeName": "a",
                "pool": pool | {"resourceSliceCount": -(-devices // 128)},
                "devices": listed[first : first + 128],
            },
        }
        for first in range(0, devices, 128)
    ]
    exactly = {
        "deviceClassName": "any",
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": f"!({DEAR})"}}],
    }
    return [
        node("a"),
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}},
        *slices,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "dear", "namespace": "default", "uid": "dear"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
        },
        pod("p", resourceClaims=[{"name": "d", "resourceClaimName": "dear"}]),
    ]


def work_on() -> None:
    while True:
        checkpoint()


def test_a_selector_asked_of_many_devices_stops_once_the_time_of_the_question_is_over() -> None:
    engine, begun = scheduler(*cluster_with_dear_selector(256)), monotonic()
    with limit_by(Patience(0.5)), pytest.raises(DeadlineExceeded):
        engine.explain(engine.snapshot.pending[0])
    assert monotonic() - begun < 20  # all 256 take minutes


def test_whoever_leaves_ends_the_work_of_another_thread() -> None:
    patience = Patience()
    Timer(0.1, patience.abandon).start()
    with limit_by(patience), pytest.raises(WorkAbandoned):
        work_on()
    checkpoint()  # no limit is left behind


def test_an_inner_limit_does_not_lengthen_an_outer_one() -> None:
    with limit_by(Patience(0)), limit_by(Patience(60)), pytest.raises(DeadlineExceeded):
        work_on()


def test_waiting_for_others_counts() -> None:
    lock, condition = RLock(), Condition()
    lock.acquire()

    def wait() -> None:
        with limit_by(Patience(0)), pytest.raises(DeadlineExceeded), hold_lock(lock):
            pass
        with limit_by(Patience(0)), condition, pytest.raises(DeadlineExceeded):
            wait_for(condition, lambda: False)
        ended.append(True)

    ended = list[bool]()
    waiting = Thread(target=wait)
    waiting.start()
    waiting.join(10)
    assert ended
