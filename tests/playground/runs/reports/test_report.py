"""Reports: one file that says what was simulated and what not, bounded, for whoever may read the scenario."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.engine.releases import CURRENT, RELEASES
from kschedweb.playground.reports import content
from kschedweb.playground.runs import selectors, services
from kschedweb.playground.runs.models import Run
from kschedweb.playground.runs.reports import report
from kschedweb.policies.models import Revision
from kschedweb.policies.validation import process_of
from tests.support import seed_runs

pytestmark = pytest.mark.django_db
Clients = Callable[[str], Any]


def test_a_report_says_what_was_simulated_and_what_not(client_as: Clients, editor: User) -> None:
    run = seed_runs.run(editor)
    response = client_as("viewer").get(f"/runs/{run.pk}/report/?format=json")
    assert response["Content-Disposition"] == f'attachment; filename="run-{run.pk}-report.json"'
    report = response.json()
    assert report["engine"] == [CURRENT.engine]
    assert report["base"] == {"snapshot": None, "cluster": None, "taken_at": None}
    assert report["seeds"] == [1]
    assert report["seed_decides"] == []
    assert report["feature_gates"]
    assert any("kubelet" in words for words in report["not_simulated"])
    assert report["scenario"]["name"] == "rush"
    assert report["address"].endswith(f"/runs/{run.pk}/")
    values = {measure["name"]: measure["values"][0]["value"] for measure in report["measures"]}
    assert values == {measure["name"]: measure["value"] for measure in run.summary}
    forced_moves = next(listing for listing in report["lists"] if listing["name"] == "forced")
    assert forced_moves["total"] == 2
    assert [document["name"] for document in report["documents"]] == ["Scenario", "Policy default@1"]


def test_a_snapshot_is_named_with_its_time(client_as: Clients, editor: User) -> None:
    from kschedweb.playground.scenarios.selectors import revision_get
    from kschedweb.playground.scenarios.services import scenario_create
    from tests.support.scenarios import on_cluster

    scenario = scenario_create(text=on_cluster(editor), author=editor, shared=True)
    run = seed_runs.run(editor, revision_get(scenario))
    report = client_as("viewer").get(f"/api/v1/runs/{run.pk}/report/").json()
    snapshot = revision_get(scenario).snapshot
    assert snapshot is not None
    assert report["base"]["snapshot"] == str(snapshot.pk)
    assert report["base"]["cluster"] == snapshot.cluster.name
    assert report["base"]["taken_at"].startswith(f"{snapshot.taken_at:%Y-%m-%dT%H:%M}")


def test_a_comparison_reports_every_seed_and_the_moved_pods(client_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor, seeds=[1, 2])
    client = client_as("viewer")
    report = client.get(f"/comparisons/{comparison.pk}/report/?format=json").json()
    assert report["policies"] == ["default@1", "packed@1"]
    assert report["seeds"] == [1, 2]
    assert report["seed_decides"] == ["the generated pods"]
    measures = {measure["name"]: measure for measure in report["measures"]}
    assert {(value["policy"], value["seed"]) for value in measures["skew_cpu"]["values"]} == {
        (policy, seed) for policy in ("default@1", "packed@1") for seed in (1, 2)
    }
    assert [(value["policy"], value["seed"]) for value in measures["moved"]["values"]] == [
        ("packed@1", 1),
        ("packed@1", 2),
    ]
    moved_pods = next(listing for listing in report["lists"] if listing["name"] == "moved under packed@1")
    assert moved_pods["total"] == client.get(f"/comparisons/{comparison.pk}/?format=json&of=moved").json()["count"] > 0
    text = client.get(f"/comparisons/{comparison.pk}/report/?format=csv").getvalue().decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["part"] for row in rows} >= {"about", "simulated", "not simulated", "measure", "moved under packed@1"}
    values = [row for row in rows if row["part"] == "measure" and row["name"] == "unscheduled"]
    assert len(values) == 4
    assert {(row["unit"], row["direction"]) for row in values} == {("pods", "lower")}


def test_the_page_lets_only_its_own_script_run_and_names_no_other_host(
    client_as: Clients, editor: User, frontend: Path
) -> None:
    comparison = seed_runs.comparison(editor)
    answer = client_as("viewer").get(f"/comparisons/{comparison.pk}/report/")
    assert answer["Content-Disposition"].startswith("attachment")
    page = answer.content.decode()
    assert len(page) < 4_000_000
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    assert b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode() in policy[1].replace("&#x3D;", "=")
    page_without_script = page.replace(scripts[0], "")
    assert not re.search(r"<(link|img|iframe|object|embed|use)\b|\bsrc=|@import|url\(", page_without_script)
    for figure in re.findall(r'<script id="([^"]*-figure)" type="application/json">(.*?)</script>', page, re.DOTALL):
        json.loads(figure[1])
        assert f'data-figure="{figure[0]}"' in page


def test_what_is_written_by_people_cannot_run_in_a_report(client_as: Clients, editor: User) -> None:
    evil = "</script><script>alert(1)</script>"
    document = seed_runs.document() | {"name": "evil", "description": evil}
    revision = seed_runs.scenario(editor)
    revision.text = json.dumps(document)
    revision.save()
    run = seed_runs.run(editor, revision)
    page = client_as("viewer").get(f"/runs/{run.pk}/report/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_lists_and_documents_are_bounded_and_what_is_left_out_is_said(
    client_as: Clients, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_ROWS", 2)
    monkeypatch.setattr(content, "MOST_TEXT", 50)
    comparison = seed_runs.comparison(editor)
    client = client_as("viewer")
    full_report = client.get(f"/comparisons/{comparison.pk}/report/?format=json").json()
    moved_pods = full_report["lists"][0]
    assert len(moved_pods["rows"]) == 2 < moved_pods["total"]
    assert (len(full_report["documents"][0]["text"]), full_report["documents"][0]["whole"]) == (50, False)
    page = client.get(f"/comparisons/{comparison.pk}/report/").content.decode()
    assert f"The first 2 of {moved_pods['total']}; the site has all" in page
    assert "The rest is left out here" in page


def test_reports_of_what_goes_on_are_refused_and_failed_runs_are_told_of(client_as: Clients, editor: User) -> None:
    comparison = services.comparison_start(
        user=editor, revision=seed_runs.scenario(editor), policies=["default", seed_runs.packed(editor)], seeds=[1]
    )
    client = client_as("viewer")
    waiting = Run.objects.get(position=0)
    assert client.get(f"/comparisons/{comparison.pk}/report/").status_code == 409
    assert client.get(f"/api/v1/comparisons/{comparison.pk}/report/").status_code == 409
    assert client.get(f"/api/v1/runs/{waiting.pk}/report/").status_code == 409
    Run.objects.filter(position=1).update(configuration="kind: Pod")
    seed_runs.work_off()
    report = client.get(f"/comparisons/{comparison.pk}/report/?format=json").json()
    assert report["notes"] == ["the run under packed@1 with seed 1 failed"]
    assert client.get(f"/api/v1/runs/{waiting.pk}/report/?as=pdf").status_code == 400


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_link_works_for_everyone_who_may_read_the_scenario_and_for_nobody_else(
    client_as: Clients, editor: User, is_shared: bool
) -> None:
    comparison = seed_runs.comparison(editor, revision=seed_runs.scenario(editor, shared=is_shared))
    run = Run.objects.filter(comparison=comparison)[0]
    for address in (
        f"/comparisons/{comparison.pk}/",
        f"/comparisons/{comparison.pk}/report/?format=json",
        f"/runs/{run.pk}/report/?format=json",
        f"/api/v1/comparisons/{comparison.pk}/report/",
        f"/api/v1/runs/{run.pk}/report/",
    ):
        assert client_as("viewer").get(address).status_code == (200 if is_shared else 404), address
        assert client_as("admin").get(address).status_code == 200


def test_who_owns_the_scenario_shares_it_where_it_is_looked_at(client_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor, revision=seed_runs.scenario(editor, shared=False))
    client = client_as("editor")
    address = f"/comparisons/{comparison.pk}/share/"
    assert address in client.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert client_as("viewer").post(address).status_code in (403, 404)
    assert client.post(address)["Location"] == f"/comparisons/{comparison.pk}/"
    assert address not in client.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert client_as("viewer").get(f"/comparisons/{comparison.pk}/").status_code == 200
    selectors.clear_caches()


def test_a_comparison_says_everywhere_by_which_kube_scheduler_each_policy_ran(client_as: Clients, editor: User) -> None:
    """On its page, over REST, in its files and in its report, with the gates that were switched."""
    old = RELEASES["1.36"].with_gates({"GenericWorkload": True})
    Revision.objects.filter(policy__name=seed_runs.packed(editor)).update(process=process_of(old))
    comparison = seed_runs.comparison(editor)
    client, address = client_as("viewer"), f"/comparisons/{comparison.pk}/"
    engines = {"default@1": CURRENT.engine, "packed@1": old.engine}
    page = " ".join(client.get(address).content.decode().split())
    assert all(f"</a> by {engine}" in page for engine in engines.values())
    comparison_row = client.get(f"/api/v1{address}").json()
    assert comparison_row["engine"] == sorted(engines.values())
    assert {run["policy"]: run["engine"] for run in comparison_row["runs"]} == engines
    rows = client.get(f"{address}?format=json&of=measures").json()["items"]
    assert {row["policy"]: row["engine"] for row in rows} == engines
    report = client.get(f"{address}report/?format=json").json()
    assert {run["policy"]: run["engine"] for run in report["runs"]} == engines
    assert report["feature_gates"].endswith(f"; switched: {old.title}")
    table = client.get(f"{address}report/?format=csv").getvalue().decode()
    assert f"{CURRENT.engine}: default@1" in table
    assert f"{old.engine}: packed@1" in table


def test_where_one_kube_scheduler_ran_all_it_is_said_once(client_as: Clients, editor: User) -> None:
    comparison = seed_runs.comparison(editor)
    page = client_as("viewer").get(f"/comparisons/{comparison.pk}/").content.decode()
    assert page.count(CURRENT.engine) == 1
    report = client_as("viewer").get(f"/comparisons/{comparison.pk}/report/?format=json").json()
    assert report["feature_gates"].endswith("; none changed")
