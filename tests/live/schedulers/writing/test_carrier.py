"""Bindings that the server refuses for a while: an approved one is tried again, any other one fails at once."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kschedweb.engine.live import BindPod, PodRef
from kschedweb.live.schedulers.writing.carrier import BindEnded, Carrier
from kschedweb.live.schedulers.writing.writer import BOUND, WriteCode, WriteResult

POD = PodRef("default", "web", "uid-web")
BUSY = WriteResult(WriteCode.REFUSED, "The server is busy.")
ALREADY_ASSIGNED = WriteResult(WriteCode.CONFLICT, "The pod is already assigned to node two.")


class Scripted:
    """A writer whose bindings come out as told, one after the other."""

    def __init__(self, *outcomes: WriteResult) -> None:
        self.outcomes = list(outcomes)

    def bind(self, pod: PodRef, node: str) -> WriteResult:
        return self.outcomes.pop(0)


class Run:
    def __init__(self, *outcomes: WriteResult) -> None:
        self.writer, self.told = Scripted(*outcomes), queue.SimpleQueue[Any]()
        self.leads = True
        recorder = SimpleNamespace(record_scheduled=lambda pod, node: None)
        self.carrier = Carrier(
            lambda leading: cast(Any, self.writer), cast(Any, recorder), lambda term: self.leads, self.told.put
        )
        self.carrier.start()

    def bind(self, patience: float) -> BindEnded:
        intent = BindPod(POD, "one", cast(Any, None))
        self.carrier.bind(intent, 1, patience=patience)
        ended = self.told.get(timeout=120)
        assert isinstance(ended, BindEnded)
        return ended


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    started: list[Run] = []
    yield started
    for run in started:
        run.carrier.stop(5)


def test_approved_binding_is_tried_until_it_is_made(runs: list[Run]) -> None:
    runs.append(run := Run(BUSY, BUSY, BOUND))
    assert run.bind(patience=60).outcome == "bound"
    assert run.writer.outcomes == []


def test_binding_nobody_approved_fails_at_once(runs: list[Run]) -> None:
    runs.append(run := Run(BUSY, BOUND))
    ended = run.bind(patience=0)
    assert (ended.outcome, ended.message, len(run.writer.outcomes)) == ("refused", "The server is busy.", 1)


def test_patience_ends(runs: list[Run]) -> None:
    runs.append(run := Run(*[BUSY] * 20))
    assert run.bind(patience=0.4).outcome == "refused"
    assert len(run.writer.outcomes) == 18


def test_pod_that_another_one_bound_is_not_tried_again(runs: list[Run]) -> None:
    runs.append(run := Run(ALREADY_ASSIGNED, BOUND))
    assert run.bind(patience=60).outcome == "refused"
    assert len(run.writer.outcomes) == 1
