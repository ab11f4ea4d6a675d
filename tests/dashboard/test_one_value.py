"""One snapshot has one value of a measure: on every page, over REST and on the command line."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.moves import services as moves
from kschedweb.advice.plans import services as plans
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.clusters.services import demo_load
from kschedweb.engine.__main__ import main
from kschedweb.fleet import standings
from kschedweb.policies import services as policies
from kschedweb.watermarks.selectors import current

DESCHEDULER = """\
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: spare
    pluginConfig:
      - name: HighNodeUtilization
        args: {thresholds: {cpu: 50}}
    plugins: {balance: {enabled: [HighNodeUtilization]}}
"""
EVERYWHERE = {"cluster": "demo"}


@pytest.fixture
def snapshot(no_cluster: None, policy: Any, editor: User, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    for asked in (moves, plans):
        monkeypatch.setattr(asked, "AT_ONCE_SECONDS", 600.0)
    policies.policy_create(name="spare", document=DESCHEDULER, author=editor)
    found: Snapshot = demo_load(user=editor).snapshots.get()
    return found


def on_the_command_line(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> float:
    """What ``plan`` says of the snapshot's objects and of its nodes' use."""
    marks = current(snapshot.cluster, snapshot.taken_at.timestamp())
    assert marks is not None
    nodes = {name: {"cpu": {"1h": level}} for name, level in zip(marks.names, marks.column("cpu", "1h"), strict=True)}
    objects = [raw for raw in snapshot_objects(snapshot) if raw["kind"] != "Pod" or raw["spec"].get("nodeName")]
    asked = {
        "objects": objects,
        "watermarks": {"nodes": nodes},
        "objective": {"skew": {"atMost": 100}},
    }
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(asked)))
    assert main(["plan"]) == 0
    before: float = json.loads(capsys.readouterr().out)["before"]
    return before


def walked(viewer: Any, api: Any) -> Iterator[tuple[str, float]]:
    """The skew of CPU use now, wherever it is told."""
    yield "Overview", viewer.get("/", EVERYWHERE).context["skew"]
    yield "Usage", viewer.get("/usage/", {**EVERYWHERE, "statistic": "1h"}).context["now"]["points"]
    points = api.get("/api/v1/clusters/demo/watermarks/skew/?statistic=1h").json()["points"]
    yield "REST: use", next(one["skew"] for one in reversed(points) if one["skew"] is not None)
    (line,) = viewer.get("/fleet/").context["page"]
    yield "Fleet", line.skew
    (line,) = api.get("/api/v1/fleet/").json()["clusters"]
    yield "REST: fleet", line["skew_points"]
    sent = viewer.post("/plans/?cluster=demo", {"objective": "skew", "skew_at_most": "100", "resource": "cpu"})
    page = viewer.get(sent.url)
    yield "Plan: objective", page.context["found"]["before"]
    yield "Plan: before", {what: before for what, _, before, *_ in page.context["gains"]}["Skew of CPU use"]
    asked = {**EVERYWHERE, "objective": {"skew": {"atMost": 100}}}
    yield "REST: plan", api.post("/api/v1/plans/", asked, format="json").json()["plan"]["before"]
    page = viewer.get("/descheduling/", {**EVERYWHERE, "descheduler": "spare@1", "rounds": 1})
    yield "Moves", {what: before for what, _, before, *_ in page.context["gains"]}["Skew of CPU use"]
    told = api.post("/api/v1/descheduling/", {**EVERYWHERE, "descheduler": "spare", "rounds": 1}).json()
    yield "REST: moves", told["before"]["use"]["cpu"]["skew"]


@pytest.mark.django_db
def test_the_skew_of_cpu_use_is_one_everywhere(
    client_as: Callable[..., Any],
    api_as: Callable[..., Any],
    snapshot: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    standings.worked_out(snapshot)
    found = dict(walked(client_as("viewer"), api_as("viewer")))
    found["command line"] = on_the_command_line(snapshot, monkeypatch, capsys)
    # REST rounds the points of a chart to a tenth.
    assert found == pytest.approx(dict.fromkeys(found, found["Overview"]), abs=0.05)
