"""A day of a recorded production cluster (openb), replayed into a flight recorder while a scheduler decides.

Twenty random moments asked "as of" lead to what was decided then: by the engine on the objects, and by the pod's own
history. The nightly tier replays the busiest day, the other one its first hours.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest

from kschedweb.clusters.flight import selectors
from kschedweb.clusters.flight.models import FlightRecorder
from kschedweb.clusters.flight.stretches import SETTLE, Flight
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Removed
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine import Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.judgement import Agreement, judge_placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.json_types import Json
from kschedweb.engine.live import BindPod, LiveLoop
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.studies.traces import openb as traces
from kschedweb.engine.studies.traces.table import LineProblems
from kschedweb.engine.studies.traces.text import read_lines
from kschedweb.live.history.builder import build_history
from kschedweb.policies.models import Policy
from kschedweb.policies.services import policy_create
from tests.support import openb
from tests.support.tiers import NIGHTLY

pytestmark = pytest.mark.django_db

DAY = 148  # of the recording: the one with most new pods
HOURS = 24.0 if NIGHTLY else 3.0
SAMPLES = 20
START_TIME, SECOND = 1_795_316_400, 1_000_000
ALL_NODES = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: 100\n"
)


class Replayed:
    """The cluster, its scheduler, and the recorder that hears of both."""

    def __init__(self, configuration: Configuration, nodes: list[Json]) -> None:
        self.cluster = Cluster.objects.create(name="openb", source=ClusterSource.TOKEN, server="https://127.0.0.1:1")
        FlightRecorder.objects.create(cluster=self.cluster, on=True, holder="me")
        self._loop = LiveLoop(configuration)
        self._loop.replace_objects("Node", nodes, START_TIME)
        self._nodes, self._pods = nodes, dict[str, Json]()
        self._flight: Flight | None = None
        self._version, self._now = 0, float(START_TIME)
        self._due: list[tuple[float, int, Any, Any]] = []
        self._numbers = itertools.count()
        self.lives: dict[str, float | None] = {}  # seconds from binding on
        self.decided: list[tuple[int, str, str]] = []  # microseconds, pod, node

    def due(self, at: float, do: Any, argument: Any) -> None:
        heapq.heappush(self._due, (at, next(self._numbers), do, argument))

    def run(self, end_time: float) -> None:
        while self._due and self._due[0][0] <= end_time:
            at, _, do, argument = heapq.heappop(self._due)
            self.passes(at)
            at = max(at, self._now + 0.005)  # the recording knows whole seconds only: one after the other
            do(argument, at)
            self._now = at
            if self._flight is not None:
                self.keep(at + 0.002)

    def comes(self, raw: Json, at: float) -> None:
        self._says(raw, at)
        self._decide(at)

    def goes(self, name: str, at: float) -> None:
        if (raw := self._pods.pop(f"default/{name}", None)) is None:
            return
        self._loop.delete_object("Pod", raw, at)
        if self._flight is not None:
            self._flight.take_news(int(at * SECOND), Removed("Pod", raw))
        self._decide(at)

    def passes(self, end_time: float) -> None:
        """Time in which nothing comes: pods whose backoff ends are tried."""
        while (due := self._loop.next_time(self._now)) is not None and due <= end_time:
            self._now = max(due, self._now)
            self._run_loop(self._now)

    def record(self, _: None, at: float) -> None:
        """The recorder begins."""
        self._flight, start = Flight(self.cluster, "me", ("Node", "Pod"), "started"), int(at * SECOND)
        self._flight.take_news(start, Listed("Node", json.loads(json.dumps(self._nodes)), "1", "start"))
        self._flight.take_news(start, Listed("Pod", json.loads(json.dumps([*self._pods.values()])), "1", "start"))
        self._flight.store_known(start + SETTLE)

    def keep(self, at: float) -> None:
        assert self._flight is not None
        for kind in ("Node", "Pod"):
            self._flight.take_news(int(at * SECOND), Bookmark(kind, "1"))
        self._flight.store_known(int(at * SECOND))

    def _says(self, raw: Json, at: float) -> None:
        self._version += 1
        raw = json.loads(json.dumps(raw))
        raw["metadata"]["resourceVersion"] = str(self._version)
        self._pods[f"default/{raw['metadata']['name']}"] = raw
        self._loop.apply_object("Pod", raw, at)
        if self._flight is not None:
            self._flight.take_news(int(at * SECOND), Changed("Pod", json.loads(json.dumps(raw))))

    def _decide(self, at: float) -> None:
        self._now = at
        while self._loop.is_ready:
            self._run_loop(at)

    def _run_loop(self, at: float) -> None:
        for intent in self._loop.step(at):
            if isinstance(intent, BindPod):
                self._bind(intent, at)

    def _bind(self, intent: BindPod, at: float) -> None:
        later = at + 0.001  # until the cluster shows it
        self._loop.on_bound(intent.pod.uid, at)
        if self._flight is not None:
            self.decided.append((int(later * SECOND), intent.pod.key, intent.node))
        raw = self._pods[intent.pod.key]
        if (life := self.lives[raw["metadata"]["name"]]) is not None:
            self.due(later + life, self.goes, raw["metadata"]["name"])
        self._says({**raw, "spec": {**raw["spec"], "nodeName": intent.node}, "status": {"phase": "Running"}}, later)


def test_twenty_moments_of_a_day_lead_to_what_was_decided() -> None:
    configuration = load(ALL_NODES).configuration
    assert configuration is not None
    replayed, begins = Replayed(configuration, openb.nodes()), START_TIME + DAY * 86_400.0
    for trace_pod in traces.read_pods(read_lines(openb.files()["pods"]), "default", LineProblems("pods", [])):
        raw = openb._stored(trace_pod.raw)
        replayed.lives[raw["metadata"]["name"]] = trace_pod.life
        replayed.due(START_TIME + trace_pod.at, replayed.comes, raw)
        if trace_pod.leaves is not None:
            replayed.due(START_TIME + trace_pod.leaves, replayed.goes, raw["metadata"]["name"])
    replayed.due(begins, replayed.record, None)
    replayed.run(begins + HOURS * 3600)
    inside = replayed.decided
    sample = random.Random(7).sample(inside, min(SAMPLES, len(inside)))
    verdict_counts = Counter[Agreement]()
    policy_create(name="all", document=ALL_NODES, author=None)
    revision = Policy.objects.get(name="all").revisions.get()
    for at, key, node in sample:
        before = selectors.objects_at(replayed.cluster, selectors.moment_of(at - 1))
        snapshot = Snapshot.from_objects(before)
        (raw,) = [item for item in before if item["kind"] == "Pod" and f"default/{item['metadata']['name']}" == key]
        verdict_counts[judge_placement(Scheduler(snapshot, configuration), Pod.from_json(raw), node).verdict] += 1
        history = build_history(replayed.cluster, key, revision, selectors.moment_of(at))
        assert (history.node, history.bound_at) == (node, selectors.moment_of(at))
        assert [attempt.outcome.node for attempt in history.attempts][-1] == node, key
    size = selectors.stored_size(replayed.cluster) / 2**20
    print(f"\nopenb: {len(inside)} decided in {HOURS:g} h, {size:.1f} MiB: {verdict_counts}")
    assert verdict_counts == {Agreement.AGREE: len(sample)}
    assert len(sample) == SAMPLES
