"""Annotation of an election: read and written as client-go does both."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.live.schedulers.election.annotationlock import KEY, ConfigMapLock, EndpointsLock, parse_record, text_of
from kschedweb.live.schedulers.election.elector import Record
from kschedweb.live.schedulers.election.objectlock import ObjectLock

# Written by client-go 0.19.
THEIRS = (
    '{"holderIdentity":"host_1","leaseDurationSeconds":15,"acquireTime":"2026-11-22T04:00:00Z",'
    '"renewTime":"2026-11-22T04:00:02Z","leaderTransitions":3}'
)
NOBODY = Record("", 0, 0.0, 0.0, 0)


def lock(kind: type[ObjectLock] = EndpointsLock) -> ObjectLock:
    return kind(cast("Client", None), "kube-system", "water", "me")


def test_a_record_of_client_go_is_read_and_written_alike() -> None:
    record = parse_record(THEIRS)
    assert record == Record("host_1", 15, 1795320000.0, 1795320002.0, 3)
    assert text_of(record) == THEIRS


@given(
    st.builds(
        Record,
        holder=st.text(),
        seconds=st.integers(0, 2**31 - 1),
        acquired=st.integers(0, 2**33).map(float),
        renewed=st.integers(0, 2**33).map(float),
        transitions=st.integers(0, 2**31 - 1),
    )
)
def test_what_is_written_is_read_again(record: Record) -> None:
    assert parse_record(text_of(record)) == record


def test_times_are_written_in_whole_seconds() -> None:
    assert json.loads(text_of(Record("a", 15, 1.9, 2.9, 0)))["renewTime"] == "1970-01-01T00:00:02Z"


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ("{}", NOBODY),
        ("null", NOBODY),
        ('{"holderIdentity":null,"renewTime":null,"strategy":"OldestEmulationVersion"}', NOBODY),
        ('{"renewTime":"2026-11-22T05:00:00.5+01:00"}', Record("", 0, 0.0, 1795320000.5, 0)),
    ],
)
def test_what_is_missing_counts_as_nothing(text: str, record: Record) -> None:
    assert parse_record(text) == record


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("[]", "no JSON object"),
        ('{"holderIdentity":7}', "holderIdentity is no text"),
        ('{"leaseDurationSeconds":15.5}', "leaseDurationSeconds is no whole number"),
        ('{"leaderTransitions":true}', "leaderTransitions is no whole number"),
        ('{"renewTime":"yesterday"}', "renewTime is no time"),
        ('{"renewTime":"2026-11-22T04:00:00"}', "renewTime has no time zone"),
        ('{"acquireTime":12}', "acquireTime is no time"),
    ],
)
def test_what_is_no_record_is_an_error_that_names_the_object(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message) as refused:
        lock().record_of({"metadata": {"annotations": {KEY: text}}})
    assert f"the annotation {KEY} of Endpoints kube-system/water" in refused.value.detail
    assert "Remove the annotation" in refused.value.detail


@pytest.mark.parametrize("metadata", [{}, {"annotations": None}, {"annotations": {"other": "x"}}])
def test_without_the_annotation_nobody_holds_it(metadata: dict[str, Any]) -> None:
    assert lock(ConfigMapLock).record_of({"metadata": metadata}) == NOBODY


def test_all_else_of_the_object_stays_as_it_is() -> None:
    annotations = {"other": "x", KEY: "{}"}
    metadata = {"name": "water", "resourceVersion": "7", "annotations": annotations, "labels": {"a": "b"}}
    subsets = [{"addresses": [{"ip": "10.0.0.1"}]}]
    endpoints: dict[str, Any] = {"kind": "Endpoints", "apiVersion": "v1", "metadata": metadata, "subsets": subsets}
    updated = lock().with_record(endpoints, parse_record(THEIRS))
    assert updated == {**endpoints, "metadata": {**metadata, "annotations": {**annotations, KEY: THEIRS}}}
    assert annotations[KEY] == "{}"
