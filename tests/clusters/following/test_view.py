"""A cluster in memory, and when it is not to be trusted."""

from __future__ import annotations

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


def raw(name: str, **fields: str) -> dict:
    found = pod(name, **fields)  # type: ignore[arg-type]
    found["metadata"]["uid"] = f"uid-{name}"
    return found


def test_it_follows_what_is_heard() -> None:
    found = view(Clock())
    found.replace("Node", [node("a"), node("b")])
    found.replace("Pod", [raw("p"), raw("q", on="a")])
    with found.reading() as snapshot:
        assert snapshot.names == ["a", "b"]
        assert list(snapshot.pods.slots) == ["default/q"]
    found.apply("Pod", raw("p", on="b"))
    found.delete("Pod", raw("q"))
    with found.reading() as snapshot:
        assert list(snapshot.pods.slots) == ["default/p"]
    held = found.pod("uid-p")
    assert held is not None
    assert held.node_name == "b"
    assert found.pod("uid-q") is None


def test_it_says_when_nothing_should_be_decided_by_it() -> None:
    clock = Clock()
    found = view(clock)
    found.replace("Node", [node("a")])
    assert found.trouble == "the cluster is still being read"
    found.replace("Pod", [])
    assert found.synced
    assert found.trouble == ""
    clock.time += STALE + 1
    found.note_heard("Node")
    assert found.trouble == "nothing was heard of the cluster for 121 s"
    found.note_heard("Pod")
    assert found.trouble == ""
