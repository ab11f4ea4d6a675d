"""crane-scheduler's own answers: texts, hot values, and the plugin Dynamic."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from kschedweb.engine import Snapshot
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.plugins.dynamic import Dynamic, base_scores
from kschedweb.engine.plugins.dynamic.policyfile import API_VERSION, KIND
from kschedweb.engine.releases import get_release
from kschedweb.engine.state.watermarks import crane
from tests.conformance.batches import Cases, judge_each
from tests.conformance.load_aware import answer, loaded_with, plugin_of, vectors
from tests.engine.builders import node, pod


def specs() -> Cases:
    """Questions put to Dynamic with each policy."""
    return vectors("crane-dynamic")


def hot_values(kind: str) -> Cases:
    return [(name, row) for name, row in vectors("crane-hot-value") if row["kind"] == kind]


def seconds(text: str) -> float:
    """An RFC 3339 time as seconds of the epoch; cut to microseconds, which a float of today can hold."""
    whole, _, part = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + (float(f"0.{part[:6]}") if part else 0.0)


@judge_each(lambda: hot_values("hot"))
def test_binding_records_give_cranes_hot_value(row: dict[str, Any]) -> None:
    now = seconds(row["nowUtc"])
    records = crane.BindingRecords(row["heapSize"])
    for binding in row["bindingsInOrder"] or ():
        records.add_binding(binding["node"], binding["ts"])
    if row["gcBeforeRead"]:
        records.remove_expired(now, row["gcRangeSeconds"])
    rules = [crane.HotRule(rule["timeRangeSeconds"], rule["count"]) for rule in row["hotValue"] or ()]
    times = records.binding_times(row["node"])
    expected = row["expect"]
    if expected.get("panic"):
        with pytest.raises(ZeroDivisionError):
            crane.hot_value(times, now, rules)
        return
    text = crane.write_hot_value(crane.hot_value(times, now, rules), now, ZoneInfo(crane.DEFAULT_TIME_ZONE))
    assert text == f"{expected['hot']},{expected['stamp']}"
    assert len(records) == expected["left"]


@judge_each(lambda: hot_values("event"))
def test_events_are_read_as_bindings_as_crane_reads_them(row: dict[str, Any]) -> None:
    event = row["message"], row["count"], row["eventTime"], row["lastTimestamp"]
    expected = row["expect"]
    if expected.get("err"):
        with pytest.raises(crane.CraneError):
            crane.read_event(*event)
        return
    binding = crane.read_event(*event)
    assert binding == (expected["namespace"], expected["pod"], expected["node"], expected["ts"])


@judge_each(specs)
def test_the_stamp_is_written_as_crane_writes_it(row: dict[str, Any]) -> None:
    zone = ZoneInfo(row["tz"] or crane.DEFAULT_TIME_ZONE)
    assert crane.write_time(seconds(row["nowUtc"]), zone) == row["expect"]["writerStampNow"]


def cluster(row: dict[str, Any]) -> Snapshot:
    raw = node("n")
    raw["metadata"]["annotations"] = row["annotations"]
    snapshot = Snapshot.from_objects([raw])
    snapshot.now = seconds(row["nowUtc"])
    return snapshot


@judge_each(lambda: [(name, row) for name, row in specs() if not row["expect"].get("panic")])
def test_a_policy_file_decides_as_the_same_spec_in_the_arguments(row: dict[str, Any]) -> None:
    """The recorded specs are what crane's own decoder made of such files, and the answers what it decided by them."""
    text = as_yaml({"apiVersion": API_VERSION, "kind": KIND, "spec": row["spec"]})
    args = {"policyConfigPath": "/etc/kubernetes/policy.yaml", "timeZone": row["tz"]}
    release = get_release("", files={args["policyConfigPath"]: text})
    from_file, inline = loaded_with("Dynamic", args, release), loaded_with("Dynamic", {**args, "policy": row["spec"]})
    assert from_file.configuration is not None, from_file.errors
    assert from_file.configuration.profiles[0].args == inline.configuration.profiles[0].args
    plugin = Dynamic(from_file.configuration.profiles[0].args["Dynamic"])
    raw = pod("p")
    if row["daemonSetPod"]:
        raw["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent"}]
    status, score = answer(plugin, cluster(row), raw)
    assert (str(status.code), score) == (row["expect"]["filterCode"], row["expect"]["score"])


# What Go makes of a number that fits in no int64 is defined by the platform: here it is what amd64 does, as there.
@judge_each(specs)
def test_dynamic_answers_as_crane_does(row: dict[str, Any]) -> None:
    snapshot, expected = cluster(row), row["expect"]
    args = {"policy": row["spec"], "timeZone": row["tz"]}
    if expected.get("panic"):  # as crane does with a time zone that there is not: here the arguments are refused
        assert loaded_with("Dynamic", args).errors
        return
    plugin = plugin_of("Dynamic", args)
    raw = pod("p")
    if row["daemonSetPod"]:
        raw["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "agent"}]
    status, score = answer(plugin, snapshot, raw)
    assert base_scores(plugin.parts(snapshot), 1)[0] == int(expected["base"])
    hot = float(plugin.hot_values(snapshot)[0])
    assert hot == float(expected["hot"]) or (math.isnan(hot) and expected["hot"] == "NaN")
    assert str(status.code) == expected["filterCode"]
    rejected_by = expected["rejectedBy"]
    assert status.reasons == ((f"Load[{rejected_by}] of node[n] is too high",) if rejected_by else ())
    assert score == expected["score"]
