"""A run's cache beside fresh lists: what only lags behind passes, what stays different is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import LiveLoop
from kschedweb.live.schedulers.running import cache_comparer
from kschedweb.live.schedulers.running.cache_comparer import Comparer, CompareRequest
from tests.engine.builders import node, pod
from tests.engine.live.loops import live, versioned

NOW = 1_700_000_000.0


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_comparer, "PAUSE", 0.01)


class Cluster:
    """A client of a cluster that lists ``pods`` on one node, and fails as often as ``failures`` says."""

    def __init__(self, *pods: Json) -> None:
        self.nodes, self.pods, self.failures = [versioned(node("a"))], list(pods), 0

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None: ...

    def pages(self, path: str, **_: str) -> Iterator[SimpleNamespace]:
        if self.failures:
            self.failures -= 1
            raise ClusterError("The server does not answer.")
        items = self.pods if path.endswith("/pods") else self.nodes
        yield SimpleNamespace(items=items[:1])
        yield SimpleNamespace(items=items[1:])


def compared(loop: LiveLoop, cluster: Cluster, catches_up: Any = lambda: None) -> tuple[Json, list[Any]]:
    """Return the result of a comparison; ``catches_up`` is called after each list."""

    def put(request: object) -> None:
        assert isinstance(request, CompareRequest)
        request.answer.put(loop.compare_with(request.fresh))
        catches_up()

    with capture_logs() as logs:
        comparer = Comparer("batch", lambda: cast("Client", cluster), put)
        comparer.start_comparison()
        comparer._thread.join(10)
    return comparer.result, logs


def knowing(*pods: Json) -> LiveLoop:
    loop = live()
    loop.replace_objects("Node", [versioned(node("a"))], NOW)
    loop.replace_objects("Pod", pods, NOW)
    return loop


def test_a_cache_that_is_true_differs_in_nothing() -> None:
    pods = [versioned(pod(name, on="a")) for name in ("one", "two")]
    result, logs = compared(knowing(*pods), Cluster(*pods))
    assert {name: value for name, value in result.items() if name != "at"} == {
        "nodes": 1,
        "pods": 2,
        "assumed": 0,
        "differences": [],
        "count": 0,
        "problem": "",
    }
    assert logs[0]["log_level"] == "info"


def test_a_cache_that_stays_different_is_told_with_the_pod_by_its_uid() -> None:
    loop = knowing(versioned(pod("one", on="a")))
    result, logs = compared(loop, Cluster(versioned(pod("one", on="a"), uid="another")))
    assert (result["count"], result["problem"]) == (4, "")
    assert "Pod default/one (another) is in the cluster, and not known here." in result["differences"]
    assert "Pod default/one (uid of one) is known here, and not in the cluster." in result["differences"]
    assert (logs[0]["event"], logs[0]["log_level"], logs[0]["scheduler"]) == ("live_cache_compared", "error", "batch")
    assert logs[0]["differences"] == result["differences"]


def test_what_only_lags_behind_is_no_difference() -> None:
    loop, coming = knowing(), versioned(pod("late", on="a"))
    result, _ = compared(loop, Cluster(coming), lambda: loop.apply_object("Pod", coming, NOW))
    assert (result["pods"], result["count"], result["problem"]) == (1, 0, "")


def test_a_server_that_is_away_for_a_moment_is_asked_again_and_one_that_stays_away_is_a_problem() -> None:
    cluster = Cluster()
    cluster.failures = 2
    assert compared(knowing(), cluster)[0]["problem"] == ""
    cluster.failures = 100
    assert compared(knowing(), cluster)[0]["problem"] == "The server does not answer."


def test_one_comparison_is_under_way_at_a_time() -> None:
    release, requests = threading.Event(), list[object]()

    def put(request: object) -> None:
        requests.append(request)
        release.wait(10)
        assert isinstance(request, CompareRequest)
        request.answer.put(knowing().compare_with(request.fresh))

    comparer = Comparer("batch", lambda: cast("Client", Cluster()), put)
    comparer.start_comparison()
    comparer.start_comparison()
    release.set()
    comparer._thread.join(10)
    assert len(requests) == 1
