"""Verdicts kept, gathered as drift, shown, and forgotten."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from kschedweb.engine import Pod
from kschedweb.engine.cycle.judgement import Agreement, Judgement
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.live.schedulers.selectors import release_in_force
from kschedweb.live.shadow import charts, selectors, services
from kschedweb.live.shadow.models import ShadowVerdict
from kschedweb.live.shadow.rows import verdict_row
from kschedweb.live.shadow.watcher import ShadowJudgement
from tests.engine.builders import pod
from tests.support.html import elements, html_of
from tests.support.seed_live import judged

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.live.schedulers.models import LiveScheduler

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def some(live: LiveScheduler) -> LiveScheduler:
    """Two that agree and one that differs at noon; one infeasible, one found only here, and one more, later."""
    judged(live, "a", at=NOON)
    judged(live, "b", at=NOON + timedelta(minutes=10))
    judged(live, "c", "differ", at=NOON + timedelta(minutes=20))
    judged(live, "d", "infeasible", at=NOON + timedelta(hours=2))
    judged(live, "e", "differ", at=NOON + timedelta(hours=2), difference=11, plugin="ImageLocality")
    judged(live, "f", "would place", at=NOON + timedelta(hours=2), difference=None, rank=None, plugin="", node="")
    return live


def test_drift_is_gathered_by_the_hour(some: LiveScheduler) -> None:
    steps = selectors.compute_drift(some, "24h", NOON + timedelta(hours=3))
    assert [(step.start, step.total, step.agree, step.mean, step.most) for step in steps] == [
        (NOON, 3, pytest.approx(200 / 3), pytest.approx(37 / 3), 37),
        (NOON + timedelta(hours=2), 3, 0.0, 11.0, 11),
    ]
    assert [step.start.hour for step in selectors.compute_drift(some, "1h", NOON + timedelta(hours=3))] == [14]


def test_the_whole_and_its_causes(some: LiveScheduler) -> None:
    now = NOON + timedelta(hours=3)
    whole = selectors.compute_summary(some, "24h", now)
    assert (whole.total, whole.most) == (6, 37)
    assert whole.mean == pytest.approx(12.0)
    assert charts.describe_drift(whole) == (
        "The policy agrees on 33 % of 6 pods. Where their nodes pass, they score 12.0 points below the best on average."
    )
    causes = {
        (cause.plugin, cause.verdict): (cause.pods, cause.mean) for cause in selectors.list_causes(some, "24h", now)
    }
    assert causes == {
        ("NodeResourcesFit", "differ"): (1, 37.0),
        ("NodeResourcesFit", "infeasible"): (1, None),
        ("ImageLocality", "differ"): (1, 11.0),
        ("", "would place"): (1, None),
    }


def test_the_chart_shows_what_its_table_says(some: LiveScheduler) -> None:
    now = NOON + timedelta(hours=3)
    chart = charts.drift_chart(selectors.compute_drift(some, "24h", now), selectors.compute_summary(some, "24h", now))
    assert chart is not None
    by_name = {trace["name"]: trace["y"] for trace in chart.figure["data"]}
    assert by_name["agree"] == [2, 0]
    assert by_name["mean difference, points"] == [12.3, 11.0]
    assert [row[:3] for row in chart.rows] == [["2026-03-01 14:00", 3, 0.0], ["2026-03-01 12:00", 3, 66.7]]
    assert len(chart.head) == len(chart.rows[0]) == len(charts.HEAD)


def test_of_a_single_moment_the_chart_shows_hours_and_no_fractions_of_a_second(some: LiveScheduler) -> None:
    now = NOON + timedelta(hours=3)
    (first, _), whole = selectors.compute_drift(some, "24h", now), selectors.compute_summary(some, "24h", now)
    chart = charts.drift_chart([first], whole)
    assert chart is not None
    assert chart.figure["layout"]["xaxis"]["range"] == ["2026-03-01 11:00", "2026-03-01 13:00"]


def test_a_verdict_that_two_processes_reach_is_kept_once(live: LiveScheduler) -> None:
    first = ShadowJudgement(Pod.from_json(pod("p")), 1.7e9, Judgement(Agreement.AGREE, "n", ("n", "m"), 2, 1, 0))
    repeated = ShadowJudgement(first.pod, 1.7e9 + 1, first.judgement)
    revision = live.policy.revisions.get().pk
    services.verdicts_store(rows=[verdict_row(live.pk, first, revision, CURRENT.engine)])
    services.verdicts_store(rows=[verdict_row(live.pk, repeated, revision, CURRENT.engine)])
    stored = ShadowVerdict.objects.get()
    assert (stored.at.timestamp(), stored.ties, stored.best, stored.node) == (1.7e9, 2, ["n", "m"], "n")
    assert stored.engine == CURRENT.engine


def test_of_very_many_verdicts_the_newest_are_told_of(live: LiveScheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "MAX_VERDICTS", 5)
    monkeypatch.setattr(charts, "MAX_VERDICTS", 5)
    now = timezone.now()
    for number in range(9):
        judged(live, f"p-{number}", at=now - timedelta(minutes=number))
    whole = selectors.compute_summary(live, "1h", now)
    assert (whole.total, whole.start) == (5, now - timedelta(minutes=4))
    assert sum(step.total for step in selectors.compute_drift(live, "1h", now)) == 5
    assert (
        f"of 5 pods. These are the newest, judged since {now - timedelta(minutes=4):%Y-%m-%d %H:%M} UTC."
        in charts.describe_drift(whole)
    )


def test_old_and_surplus_verdicts_are_forgotten(live: LiveScheduler) -> None:
    live.keep_days, live.keep_decisions = 2, 100
    live.save()
    now = timezone.now()
    for number in range(105):
        judged(live, f"p-{number}", at=now - timedelta(seconds=number))
    judged(live, "old", at=now - timedelta(days=3))
    assert services.verdicts_clean(now=now) == 6
    names = set(ShadowVerdict.objects.values_list("name", flat=True))
    assert names == {f"p-{number}" for number in range(100)}


def test_the_page_says_how_far_they_are_apart(client_as: Callable[[str], Client], live: LiveScheduler) -> None:
    judged(live, "a")
    judged(live, "c", "differ")
    client, address = client_as("viewer"), f"/live/{live.pk}/shadow/"
    page = html_of(client.get(address))
    assert "Policy default agrees on 50 % of 2 pods" in page
    only = html_of(client.get(address, {"verdict": "differ"}))
    assert "default/c" in only
    assert "default/a" not in only
    rows = list(csv.DictReader(io.StringIO(client.get(address, {"format": "csv"}).getvalue().decode("utf-8-sig"))))
    assert {(row["name"], row["difference"]) for row in rows} == {("a", "0"), ("c", "37")}
    drift = client.get(address, {"format": "csv", "what": "drift"}).getvalue().decode("utf-8-sig")
    assert drift.splitlines()[0] == ",".join(charts.HEAD)
    assert client.get(address, {"cursor": "nonsense"}).status_code == 404


def test_a_verdict_says_by_which_release_it_was_given_where_that_is_another_one(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], live: LiveScheduler
) -> None:
    engine = RELEASES["1.34"].engine
    judged(live, "old")
    judged(live, "before", engine=engine)
    judged(live, "now", engine=release_in_force(live).engine)
    client, address = client_as("viewer"), f"/live/{live.pk}/shadow/"
    assert [item.text for item in elements(client.get(address), "[data-engine]")] == [f"by {engine}"]
    exported = {item["name"]: item["engine"] for item in client.get(address, {"format": "json"}).json()["items"]}
    assert exported == {"old": "", "before": engine, "now": release_in_force(live).engine}
    results = api_as("viewer").get(f"/api/v1/live/{live.pk}/shadow/").json()["results"]
    assert {item["name"]: item["engine"] for item in results} == exported


def test_rest_answers_the_same(api_as: Callable[[str], APIClient], some: LiveScheduler) -> None:
    api = api_as("viewer")
    ShadowVerdict.objects.update(at=timezone.now())
    rows = api.get(f"/api/v1/live/{some.pk}/shadow/", {"plugin": "ImageLocality"}).json()["results"]
    assert [(row["name"], row["difference"]) for row in rows] == [("e", 11)]
    drift = api.get(f"/api/v1/live/{some.pk}/shadow/drift/", {"span": "1h"}).json()
    assert drift["whole"]["pods"] == 6
    assert sum(step["pods"] for step in drift["steps"]) == 6
    assert drift["causes"][0]["pods"] == 1
    refused = api.get(f"/api/v1/live/{some.pk}/shadow/drift/", {"span": "1y"})
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["path"] == "span"
