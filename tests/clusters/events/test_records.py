"""Events of both APIs become the same record; what is odd about one neither stops the others nor is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kschedweb.clusters.events.records import EventRecord, read_event
from tests.clusters.conftest import node, pod
from tests.support.seed_events import event

# As kube-scheduler writes them since 1.19.
SERIES: dict[str, Any] = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "web.17", "namespace": "shop", "uid": "u", "creationTimestamp": "2026-01-15T11:00:00Z"},
    "eventTime": "2026-01-15T11:00:00.250000Z",
    "series": {"count": 7, "lastObservedTime": "2026-01-15T11:40:00.500000Z"},
    "reportingController": "default-scheduler",
    "regarding": {"kind": "Pod", "namespace": "shop", "name": "web", "uid": "uid-web"},
    "type": "Warning",
    "reason": "FailedScheduling",
    "note": "0/3 nodes are available",
    "deprecatedFirstTimestamp": None,
    "deprecatedCount": 0,
}


def read(raw: dict[str, Any]) -> EventRecord:
    record = read_event(raw)
    assert record is not None
    return record


def test_both_apis_say_the_same() -> None:
    series = read(SERIES)
    assert (series.kind, series.namespace, series.name, series.object_uid) == ("Pod", "shop", "web", "uid-web")
    assert (series.source, series.message, series.count) == ("default-scheduler", "0/3 nodes are available", 7)
    assert series.first_at == datetime(2026, 1, 15, 11, 0, 0, 250_000, tzinfo=UTC)
    assert series.last_at == datetime(2026, 1, 15, 11, 40, 0, 500_000, tzinfo=UTC)
    core = read(event("web.17", pod("web", "shop"), minute=7, count=3, lastTimestamp="2026-01-15T11:09:00Z"))
    assert (core.kind, core.namespace, core.name, core.object_uid) == ("Pod", "shop", "web", "uid-web")
    assert (core.source, core.count, core.first_at.minute, core.last_at.minute) == ("default-scheduler", 3, 7, 9)


def test_events_of_nodes_have_no_namespace() -> None:
    raw = event("node-1.1", node())
    assert read(raw).namespace == ""
    assert read(raw | {"involvedObject": raw["involvedObject"] | {"namespace": "default"}}).namespace == ""


@pytest.mark.parametrize(
    "more",
    [
        {"involvedObject": None},
        {"involvedObject": {"kind": "Pod"}},
        {"involvedObject": [], "regarding": "web"},
        {"firstTimestamp": "yesterday", "lastTimestamp": 7},
        {"firstTimestamp": "0001-01-01T00:00:00Z", "lastTimestamp": None},
    ],
    ids=str,
)
def test_an_event_about_nothing_or_of_no_time_is_none(more: dict[str, Any]) -> None:
    assert read_event(event("odd", pod()) | more) is None


def test_texts_are_cut_and_cleaned() -> None:
    message = "password=hunter2 \0\ud800" + "x" * 5_000
    record = read(event("odd", pod(), message=message, count=10**30, type=None, source=7))
    assert len(record.message) == 1_024
    assert "hunter2" not in record.message
    assert "\0" not in record.message
    assert record.message.isascii()
    assert (record.count, record.type, record.source) == (2**31 - 1, "Normal", "")
