"""A recorder over a real connection: a sandbox at 60 times its pace. What is asked as of then equals what was decided.

The nightly tier records a day of the sandbox, the other one some of its minutes.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from pytest_django import Settings

from kschedweb.clusters.connecting.client import MERGE
from kschedweb.clusters.flight import flight_run, selectors, services
from kschedweb.clusters.flight.flight_run import FlightRun
from kschedweb.clusters.flight.models import FlightRecorder, Segment
from kschedweb.clusters.flight.storage import Tape, segment_lines
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.services import sandbox_connect
from kschedweb.engine import Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.judgement import Agreement, judge_placement
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.sandbox.requests import Request
from kschedweb.sandbox.running import transport
from kschedweb.sandbox.running.process import Sandbox
from kschedweb.sandbox.selectors import CLOCK_PATH
from kschedweb.web.errors import NotFound
from tests.conftest import ROOT
from tests.jobs.conftest import database_url
from tests.support.processes import wait_until
from tests.support.sandbox import sandbox
from tests.support.tiers import NIGHTLY

__all__ = ["sandbox"]
pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 1440.0 if NIGHTLY else 5.0  # of real time
SAMPLES = 20  # moments
DEFAULT = "default-scheduler"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "BOOKMARK_SECONDS", 1.0)
    monkeypatch.setattr(flight_run, "KEEP_EVERY", 0.5)


@pytest.fixture
def cluster(sandbox: Sandbox, settings: Settings) -> Cluster:
    sandbox.call(Request("PATCH", CLOCK_PATH, {}, {"spec": {"speed": 60}}, MERGE))
    sandbox_cluster, _ = sandbox_connect()
    services.recorder_set(user=None, cluster=sandbox_cluster, on=True)
    return sandbox_cluster


@pytest.fixture
def recorded(cluster: Cluster) -> Iterator[Callable[[], FlightRun]]:
    """Begins to record; what still runs is stopped."""
    runs: list[FlightRun] = []

    def begin() -> FlightRun:
        row = FlightRecorder.objects.select_related("cluster").get()
        assert services.recorder_claim(recorder=row, holder="me")
        runs.append(FlightRun(row, "me", reason="nobody recorded"))
        runs[-1].start()
        return runs[-1]

    yield begin
    for run in runs:
        run.stop()


def count_stretches(cluster: Cluster) -> int:
    """Count the stretches."""
    return selectors.list_stretches(cluster).count()


def bindings(cluster: Cluster) -> list[tuple[int, str, str]]:
    """List bindings of the stock kube-scheduler, by what was recorded: time, key, node."""
    bound_pods, waiting = [], dict[str, bool]()
    for segment in Segment.objects.filter(stretch__cluster=cluster).order_by("stretch__began", "number"):
        for at, how, kind, key, *value in map(json.loads, segment_lines(segment.content)):
            if kind != "Pod" or how == "-" or segment.full:
                continue
            if how == "=":
                spec = value[0]["spec"]
                waiting[key] = not spec.get("nodeName") and spec["schedulerName"] == DEFAULT
            elif (node := _bound(value[0])) and waiting.pop(key, False):
                bound_pods.append((at, key, node))
    return bound_pods


def decided(cluster: Cluster) -> list[tuple[int, str, str]]:
    """Those of the bindings that are known for sure."""
    (stretch,) = selectors.list_stretches(cluster)
    return [binding for binding in bindings(cluster) if stretch.began < binding[0] <= stretch.until]


def _bound(patch: list[Any]) -> str:
    try:
        return str(patch[1]["spec"][1]["nodeName"][1])
    except (KeyError, IndexError, TypeError):
        return ""


def test_what_was_decided_is_what_the_moment_before_leads_to(
    cluster: Cluster, recorded: Callable[[], FlightRun]
) -> None:
    run = recorded()
    wait_until(lambda: count_stretches(cluster) > 0, "a moment is known")
    time.sleep(SECONDS)
    wait_until(lambda: len(decided(cluster)) >= SAMPLES, "enough was decided", seconds=240, step=5)
    run.stop()
    assert cluster.events.filter(source="default-scheduler").exists()
    inside, configuration = decided(cluster), load(None).configuration
    assert configuration is not None
    verdict_counts = Counter[Agreement]()
    for at, key, node in random.Random(7).sample(inside, SAMPLES):
        verdicts = (judged(cluster, configuration, moment, key, node) for moment in moments_before(cluster, at))
        known = itertools.takewhile(lambda verdict: verdict is not None, verdicts)
        verdict_counts[Agreement.AGREE if Agreement.AGREE in known else Agreement.DIFFER] += 1
        after = selectors.objects_at(cluster, selectors.moment_of(at))
        (raw,) = [item for item in after if item["kind"] == "Pod" and _key(item) == key]
        assert raw["spec"]["nodeName"] == node
    assert verdict_counts == {Agreement.AGREE: SAMPLES}


def moments_before(cluster: Cluster, at: int) -> Iterator[int]:
    """The moments at which the scheduler can have decided what was heard ``at``, newest first.

    It decides first and writes the binding then, while other things happen: on a busy machine for seconds.
    """
    (stretch,) = selectors.list_stretches(cluster)
    heard = {line[0] for line in selectors.lines_between(stretch, stretch.began, at) if line[0] <= at}
    yield from sorted((moment - 1 for moment in heard), reverse=True)


def judged(cluster: Cluster, configuration: Configuration, moment: int, key: str, node: str) -> Agreement | None:
    """Return the engine's verdict on ``node`` for the pod at ``moment``; ``None`` if the pod did not exist yet."""
    before = selectors.objects_at(cluster, selectors.moment_of(moment))
    snapshot = Snapshot.from_objects(before)
    snapshot.now = moment / 1e6
    raw = next((item for item in before if item["kind"] == "Pod" and _key(item) == key), None)
    if raw is None:
        return None
    assert not raw["spec"].get("nodeName")
    return judge_placement(Scheduler(snapshot, configuration), Pod.from_json(raw), node).verdict


def _key(raw: dict[str, Any]) -> str:
    return f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"


def test_a_database_that_is_away_for_a_while_leaves_no_gap(
    cluster: Cluster, recorded: Callable[[], FlightRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded()
    wait_until(lambda: count_stretches(cluster) > 0, "a moment is known")
    keep, refused = Tape.store_lines, []

    def away(self: Tape, end_time: int) -> None:
        refused.append(end_time)
        raise OperationalError("the database is away")

    monkeypatch.setattr(Tape, "store_lines", away)
    wait_until(lambda: len(refused) > 8, "it was tried some times")
    before = selectors.list_stretches(cluster).get().until
    with pytest.raises(NotFound, match="so far it is recorded up to"):
        selectors.objects_at(cluster, selectors.moment_of(refused[-1]))
    monkeypatch.setattr(Tape, "store_lines", keep)
    wait_until(lambda: selectors.list_stretches(cluster).get().until > refused[-1], "all is stored")
    run.stop()
    assert before < refused[-1]
    assert selectors.list_gaps(cluster) == []
    assert selectors.objects_at(cluster, selectors.moment_of(refused[-1] // 2 + before // 2))


def test_a_recorder_that_is_killed_leaves_a_gap_that_is_told(
    cluster: Cluster, recorded: Callable[[], FlightRun], sandbox: Sandbox, settings: Settings, tmp_path: Path
) -> None:
    env = {**os.environ, "DATABASE_URL": database_url(), "REDIS_URL": ""}
    env |= {"KSCHEDWEB_SANDBOX_SERVER": settings.SANDBOX_SERVER, "KSCHEDWEB_SANDBOX_TOKEN": settings.SANDBOX_TOKEN}
    env |= {"DJANGO_SETTINGS_MODULE": "kschedweb.settings", "KSCHEDWEB_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "tests.support.flight_process"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=log, stderr=log)
    try:
        wait_until(lambda: count_stretches(cluster) > 0, "the process records")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    killed = selectors.list_stretches(cluster).get().until
    FlightRecorder.objects.update(held_until=None)  # as after the 15 s in which nobody else may
    recorded()
    wait_until(lambda: count_stretches(cluster) == 2, "another process records")
    (gap,) = selectors.list_gaps(cluster)
    assert selectors.to_micros(gap.start) == killed
    assert gap.reason == "nobody recorded"
    assert gap.end is not None
    with pytest.raises(NotFound, match="in a gap of the recording \\(nobody recorded\\)"):
        selectors.objects_at(cluster, gap.start + (gap.end - gap.start) / 2)
    for moment in (gap.start, gap.end):
        assert selectors.objects_at(cluster, moment)
