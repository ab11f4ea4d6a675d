"""Work shared by threads: in order for each pod, and no thread idle while another pod waits."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.live.schedulers.writing.lanes import Lanes


@given(st.lists(st.sampled_from("abcde"), max_size=60), st.integers(1, 4))
def test_all_of_a_key_is_done_once_in_its_order_and_never_at_the_same_time(keys: list[str], count: int) -> None:
    lanes = Lanes(count, "test")
    numbers_by_key: dict[str, list[int]] = defaultdict(list)
    at_work: set[str] = set()
    clashes: list[str] = []
    ended = threading.Semaphore(0)

    def work(key: str, number: int) -> None:
        if key in at_work:
            clashes.append(key)
        at_work.add(key)
        numbers_by_key[key].append(number)
        at_work.discard(key)
        ended.release()

    lanes.start()
    for number, key in enumerate(keys):
        lanes.put(key, lambda key=key, number=number: work(key, number))  # type: ignore[misc]
    assert all(ended.acquire(timeout=120) for _ in keys)
    lanes.stop(10)
    expected: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        expected[key].append(number)
    assert numbers_by_key == expected
    assert clashes == []


def test_one_pod_that_takes_long_holds_up_no_other() -> None:
    lanes, go_on, finished = Lanes(2, "test"), threading.Event(), threading.Semaphore(0)
    lanes.start()

    def slow() -> None:
        go_on.wait(10)

    lanes.put("slow", slow)
    for number in range(20):
        lanes.put(f"pod-{number}", finished.release)
    assert all(finished.acquire(timeout=120) for _ in range(20))
    go_on.set()
    lanes.stop(10)


def test_what_fails_does_not_end_its_thread() -> None:
    lanes, finished = Lanes(1, "test"), threading.Event()

    def fail() -> None:
        raise ValueError("this one failed")

    lanes.start()
    lanes.put("a", fail)
    lanes.put("a", finished.set)
    assert finished.wait(10)
    lanes.stop(10)


def test_work_that_hangs_in_every_thread_is_waited_for_once() -> None:
    lanes, go_on = Lanes(20, "test"), threading.Event()
    lanes.start()

    def hang() -> None:
        go_on.wait(30)

    for number in range(20):
        lanes.put(str(number), hang)
    start = time.monotonic()
    lanes.stop(0.3)
    assert time.monotonic() - start < 3, "20 threads, one after the other, would be 6 s"
    go_on.set()
