"""A cluster in memory, and when it is not to be trusted."""

from __future__ import annotations

from typing import Any

from kschedweb.clusters.following.view import STALE, View
from kschedweb.engine.releases import load
from tests.engine.builders import CONFIGURATION, node, pod


class Clock:
    time = 100.0

    def __call__(self) -> float:
        return self.time


def view(clock: Clock) -> View:
    loaded = load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler"}]})
    assert loaded.configuration is not None
    return View(loaded.configuration, clock=clock, now=clock)


def raw(name: str, **fields: Any) -> dict:
    raw_pod = pod(name, **fields)
    raw_pod["metadata"]["uid"] = f"uid-{name}"
    return raw_pod


def test_it_follows_what_is_heard() -> None:
    cluster_view = view(Clock())
    cluster_view.replace("Node", [node("a"), node("b")])
    cluster_view.replace("Pod", [raw("p"), raw("q", on="a")])
    with cluster_view.reading() as snapshot:
        assert snapshot.names == ["a", "b"]
        assert list(snapshot.pods.slots) == ["default/q"]
    cluster_view.apply("Pod", raw("p", on="b"))
    cluster_view.delete("Pod", raw("q"))
    with cluster_view.reading() as snapshot:
        assert list(snapshot.pods.slots) == ["default/p"]
    bound_pod = cluster_view.pod("uid-p")
    assert bound_pod is not None
    assert bound_pod.node_name == "b"
    assert cluster_view.pod("uid-q") is None


def test_it_says_when_nothing_should_be_decided_by_it() -> None:
    clock = Clock()
    cluster_view = view(clock)
    cluster_view.replace("Node", [node("a")])
    assert cluster_view.trouble == "the cluster is still being read"
    cluster_view.replace("Pod", [])
    assert cluster_view.synced
    assert cluster_view.trouble == ""
    clock.time += STALE + 1
    cluster_view.note_heard("Node")
    assert cluster_view.trouble == "nothing was heard of the cluster for 121 s"
    cluster_view.note_heard("Pod")
    assert cluster_view.trouble == ""
