"""The fleet: how clusters stand, what is found in all of them, one policy on many, readings on a schedule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from kschedweb.accounts.models import User
from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot
from kschedweb.clusters.refresh_schedule import AT_ONCE, is_due, refresh_due
from kschedweb.clusters.services import snapshot_store
from kschedweb.fleet import selectors, services, summaries
from kschedweb.fleet.models import FleetTrial, Standing
from kschedweb.jobs.models import Job
from kschedweb.playground.trying.models import TriedChange
from kschedweb.playground.trying.selectors import answer_of
from kschedweb.policies.models import Revision
from kschedweb.web.errors import ApplicationError
from tests.decisions.conftest import demo, no_cluster, policy, revision, stored_demo
from tests.engine.builders import node, pod
from tests.engine.studies.gates import PACKED

__all__ = ["demo", "no_cluster", "policy", "revision", "stored_demo"]
pytestmark = pytest.mark.django_db
PENDING = "Insufficient cpu"


def make_cluster(name: str, nodes: int = 2, waiting: int = 0, version: str = "v1.36.1") -> Cluster:
    """One with nodes of 4 CPU, a small pod, and pods that fit nowhere."""
    cluster_row = Cluster.objects.create(
        name=name, source=ClusterSource.IMPORT, server_version=version, refreshed_at=timezone.now()
    )
    objects = [node(f"{name}-{number}") for number in range(nodes)]
    objects += [pod(f"large-{number}", requests={"cpu": "64"}) for number in range(waiting)]
    objects.append(pod("small", requests={"cpu": "1"}, on=f"{name}-0"))
    snapshot_store(cluster=cluster_row, objects=objects, problems=[])
    return cluster_row


@pytest.fixture
def clusters(no_cluster: None) -> list[Cluster]:
    return [make_cluster("alpha", 3, 2), make_cluster("beta", 2, 1, "v1.37.0"), make_cluster("gamma", 1, 0, "")]


def list_lines(**filters: Any) -> list[selectors.ClusterLine]:
    return selectors.list_lines(selectors.fleet_list(), **filters)


def test_each_cluster_stands_as_its_own_pages_say(clusters: list[Cluster]) -> None:
    assert [line.has_summary for line in list_lines()] == [False] * 3
    assert summaries.refresh_stale(60, force=True) == 3
    lines_by_name = {line.name: line for line in list_lines()}
    alpha = lines_by_name["alpha"]
    assert (alpha.nodes, alpha.pods, alpha.pending, alpha.reasons) == (3, 3, 2, [(PENDING, 2)])
    assert alpha.requested == pytest.approx(100 / 12)
    assert (alpha.used, alpha.skew, alpha.hour) == (None, None, None)
    assert lines_by_name["gamma"].pending == 0


def test_the_map_has_the_nodes_of_all_clusters(clusters: list[Cluster], client_as: Callable[[str], Any]) -> None:
    client = client_as("viewer")
    node_map = client.get("/fleet/").context["map"]
    (side,) = node_map.sides
    names = [
        f"{name}/{name}-{number}"
        for name, count in (("alpha", 3), ("beta", 2), ("gamma", 1))
        for number in range(count)
    ]
    assert list(side.now.names) == names
    assert next(iter(node_map.groupings)) == "cluster"
    answer = client.get("/fleet/node/", {"node": "beta/beta-1"})
    assert (answer.status_code, answer["Location"]) == (302, "/nodes/beta-1/?cluster=beta")
    assert client.get("/fleet/node/")["Location"] == "/fleet/"


def test_figures_stay_with_their_age_until_there_are_new_ones(
    clusters: list[Cluster], client_as: Callable[[str], Any], api_as: Callable[[str], Any]
) -> None:
    summaries.refresh_stale(60, force=True)
    later = [node("alpha-0"), pod("large-0", requests={"cpu": "64"})]
    newest = snapshot_store(cluster=clusters[0], objects=later, problems=[])
    alpha = next(line for line in list_lines() if line.name == "alpha")
    assert (alpha.has_summary, alpha.stale, alpha.nodes, alpha.reasons) == (True, True, 3, [(PENDING, 2)])
    assert alpha.figures_at is not None
    assert alpha.figures_at < newest.taken_at == alpha.taken_at
    page = client_as("viewer").get("/fleet/")
    assert (page.context["totals"].unknown, page.context["totals"].stale) == (0, 1)
    (entry_of_alpha,) = [
        entry for entry in api_as("viewer").get("/api/v1/fleet/").json()["clusters"] if entry["cluster"] == "alpha"
    ]
    assert entry_of_alpha["figures_at"] < entry_of_alpha["taken_at"]
    assert summaries.refresh_stale(60, force=True) == 1
    alpha = next(line for line in list_lines() if line.name == "alpha")
    assert (alpha.stale, alpha.nodes, alpha.reasons) == (False, 1, [(PENDING, 1)])


def test_the_demo_stands_as_its_overview_says(client_as: Callable[[str], Any], demo: Snapshot) -> None:
    summaries.refresh_stale(60, force=True)
    (line,) = list_lines()
    overview = client_as("viewer").get("/?cluster=demo").context
    assert (line.nodes, line.pending) == (overview["counts"]["nodes"], overview["counts"]["waiting"])
    assert dict(line.reasons) == dict(overview["reasons"][:8])


def test_nothing_is_worked_out_while_nobody_looks(clusters: list[Cluster]) -> None:
    assert summaries.refresh_stale(60) == 0
    summaries.mark_viewed()
    assert summaries.refresh_stale(60) == 3
    assert summaries.refresh_stale(60) == 0


def test_a_cluster_that_cannot_be_read_is_told_by_its_counts_and_stops_nobody(
    clusters: list[Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    compute_summary = summaries.compute_summary

    def compute_or_fail(snapshot: Snapshot) -> Standing:
        if snapshot.cluster.name == "alpha":
            raise ValueError("damaged")
        return compute_summary(snapshot)

    monkeypatch.setattr(summaries, "compute_summary", compute_or_fail)
    assert summaries.refresh_stale(60, force=True) == 3
    alpha = next(line for line in list_lines() if line.name == "alpha")
    assert (alpha.nodes, alpha.reasons) == (3, [])
    assert summaries.refresh_stale(60, force=True) == 0


def test_sums_reasons_releases_and_orders(clusters: list[Cluster]) -> None:
    summaries.refresh_stale(60, force=True)
    fleet_lines = list_lines()
    assert [line.name for line in fleet_lines] == ["alpha", "beta", "gamma"]
    assert [line.name for line in list_lines(ordering="nodes")] == ["gamma", "beta", "alpha"]
    assert [line.name for line in list_lines(reason=PENDING)] == ["alpha", "beta"]
    assert [line.name for line in list_lines(ordering="-release")] == ["beta", "alpha", "gamma"]
    totals = selectors.compute_totals(fleet_lines)
    assert (totals.clusters, totals.nodes, totals.pods, totals.pending, totals.unknown) == (3, 6, 6, 3, 0)
    assert selectors.count_reasons(fleet_lines) == [selectors.Reason(PENDING, 3, 2)]
    assert selectors.count_releases(fleet_lines) == [("1.37", 1), ("1.36", 1), ("unknown", 1)]


def test_pods_and_nodes_are_found_in_every_cluster_as_read_last(clusters: list[Cluster]) -> None:
    snapshot_store(cluster=clusters[2], objects=[node("gamma-9")], problems=[])
    pods = [(row.snapshot.cluster.name, row.name) for row in selectors.pods_everywhere("default/large")]
    assert pods == [("alpha", "large-0"), ("alpha", "large-1"), ("beta", "large-0")]
    assert [row.name for row in selectors.nodes_everywhere("gamma")] == ["gamma-9"]


@pytest.fixture
def packing(policy: Callable[..., Revision]) -> Revision:
    return policy("packing", PACKED)


def test_a_policy_is_tried_on_many_clusters_as_on_each_alone(
    clusters: list[Cluster], revision: Revision, packing: Revision, editor: User
) -> None:
    question = services.FleetQuestion(revision, packing, ["beta", "alpha"])
    trial = services.trial_start(user=editor, question=question)
    assert (trial.clusters, trial.state) == (["alpha", "beta"], "queued")
    services.KIND.answer(trial, lambda *_: None)
    answered = FleetTrial.objects.get(pk=trial.pk)
    assert [answer["cluster"] for answer in answered.answers] == ["alpha", "beta"]
    for cluster_answer, nodes in zip(answered.answers, (3, 2), strict=True):
        tried_change = TriedChange.objects.get(pk=cluster_answer["tried"])
        answer = answer_of(tried_change)
        assert answer is not None
        assert (cluster_answer["moved"], cluster_answer["nodes"]) == (answer["anew"]["moved"], answer["nodes"])
        assert tried_change.snapshot is not None
        assert tried_change.snapshot.counts["Node"] == nodes
    assert answered.ended_at is not None


def test_what_was_answered_before_a_worker_died_is_not_tried_again(
    clusters: list[Cluster], revision: Revision, packing: Revision, editor: User
) -> None:
    trial = services.trial_start(user=editor, question=services.FleetQuestion(revision, packing))

    def dies(text: str, completed: int, total: int) -> None:
        if completed == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        services.KIND.answer(trial, dies)
    resumed = FleetTrial.objects.get(pk=trial.pk)
    first = [answer["tried"] for answer in resumed.answers]
    assert len(first) == 2
    services.KIND.answer(resumed, lambda *_: None)
    assert [answer["tried"] for answer in resumed.answers][:2] == first
    assert len(resumed.answers) == 3


def test_a_cluster_that_was_deleted_meanwhile_is_told(
    clusters: list[Cluster], revision: Revision, packing: Revision, editor: User
) -> None:
    trial = services.trial_start(user=editor, question=services.FleetQuestion(revision, packing))
    clusters[1].delete()
    services.KIND.answer(trial, lambda *_: None)
    assert trial.answers[1] == {"cluster": "beta", "error": "The cluster was deleted."}
    assert "tried" in trial.answers[2]


@pytest.mark.parametrize(
    ("names", "same", "path"), [([], True, "instead"), (["nowhere"], False, "clusters")], ids=["same", "unknown"]
)
def test_what_cannot_be_tried_is_refused_at_its_field(
    clusters: list[Cluster],
    revision: Revision,
    packing: Revision,
    editor: User,
    names: list[str],
    same: bool,
    path: str,
) -> None:
    question = services.FleetQuestion(revision, revision if same else packing, names)
    with pytest.raises(ApplicationError) as caught:
        services.trial_start(user=None, question=question)
    assert [error["path"] for error in caught.value.errors] == [path]
    assert not FleetTrial.objects.exists()


def test_pages_tell_the_same_and_find_by_reason(
    client_as: Callable[[str], Any], clusters: list[Cluster], revision: Revision, packing: Revision
) -> None:
    client = client_as("editor")
    answer = client.get("/fleet/")
    assert [line.name for line in answer.context["page"]] == ["alpha", "beta", "gamma"]
    assert [line.name for line in client.get("/fleet/", {"release": "1.37"}).context["page"]] == ["beta"]
    search_page = client.get("/fleet/search/", {"q": "large"})
    assert [hit.note for hit in search_page.context["hits"]] == ["alpha", "alpha", "beta"]
    same = {"policy": "default@1", "instead": "default@1"}
    rejection = client.post("/fleet/trials/", same)
    assert rejection.status_code == 400
    assert rejection.context["form"].errors["instead"]
    submission = client.post("/fleet/trials/", {**same, "instead": "packing@1", "clusters": ["beta"]})
    page = client.get(submission["Location"])
    assert page.context["trial"].clusters == ["beta"]
    assert page.context["trial"].job.title == "packing@1 instead of default@1 on 1 cluster"
    assert client.get("/fleet/?format=csv").getvalue().decode().splitlines()[1].startswith("alpha,1.36,3,3,2,")
    assert client_as("viewer").post("/fleet/trials/", same).status_code == 403


def test_rest_tells_what_pages_tell(
    api_as: Callable[[str], Any], clusters: list[Cluster], revision: Revision, packing: Revision
) -> None:
    summaries.refresh_stale(60, force=True)
    api = api_as("editor")
    answer = api.get("/api/v1/fleet/").data
    assert answer["totals"]["pending"] == 3
    assert [cluster["cluster"] for cluster in answer["clusters"]] == ["alpha", "beta", "gamma"]
    assert api.get("/api/v1/fleet/?ordering=colour").status_code == 400
    assert api.get("/api/v1/fleet/search/?q=large").data["total"] == 3
    assert api.get("/api/v1/fleet/search/").status_code == 400
    response = api.post("/api/v1/fleet/trials/", {"policy": "default", "instead": "packing@1"})
    assert response.status_code == 202
    assert api.get(response["Location"]).data["clusters"] == ["alpha", "beta", "gamma"]
    assert api.post("/api/v1/fleet/trials/", {"policy": "default", "instead": "none@1"}).status_code in (400, 404)


def connect_cluster(name: str, minutes: int, **fields: Any) -> Cluster:
    return Cluster.objects.create(name=name, source=ClusterSource.TOKEN, refresh_minutes=minutes, **fields)


def test_each_cluster_is_due_once_in_its_minutes_at_a_moment_of_its_own() -> None:
    now = timezone.now()
    for minutes in (1, 7, 60):
        moments = set()
        for number in range(20):
            cluster_row = connect_cluster(f"c-{minutes}-{number}", minutes, refreshed_at=now)
            seconds = [
                second for second in range(minutes * 60 + 1) if is_due(cluster_row, now + timedelta(seconds=second))
            ]
            assert seconds[-1] == minutes * 60
            assert seconds == list(range(seconds[0], minutes * 60 + 1))
            moments.add(seconds[0])
        assert len(moments) > 10
    assert not is_due(connect_cluster("by-hand", 0), now)


def test_few_clusters_are_read_at_once_the_longest_waiting_first() -> None:
    now = timezone.now()
    for number in range(10):
        asked_at = now - timedelta(hours=2, seconds=number) if number else None
        connect_cluster(f"c-{number}", 5, refresh_asked_at=asked_at)
    refresh_due(now=now)
    read = set(Job.objects.filter(kind="clusters.refresh").values_list("title", flat=True))
    assert read == {"Read cluster c-0", "Read cluster c-9", "Read cluster c-8", "Read cluster c-7"}
    assert len(read) == AT_ONCE
    assert refresh_due(now=now) == []


def test_a_schedule_is_set_on_the_page_and_over_rest(
    client_as: Callable[[str], Any], api_as: Callable[[str], Any]
) -> None:
    connect_cluster("eu", 0)
    wrong = client_as("editor").post("/clusters/eu/schedule/", {"refresh_minutes": "-5"})
    assert wrong.status_code == 400
    assert wrong.context["schedule"].errors["refresh_minutes"]
    client_as("editor").post("/clusters/eu/schedule/", {"refresh_minutes": "15"})
    assert Cluster.objects.get(name="eu").refresh_minutes == 15
    assert api_as("editor").patch("/api/v1/clusters/eu/", {"refresh_minutes": 30}).data["refresh_minutes"] == 30
    assert api_as("viewer").patch("/api/v1/clusters/eu/", {"refresh_minutes": 30}).status_code == 403
    assert api_as("editor").patch("/api/v1/clusters/eu/", {"refresh_minutes": 5000}).status_code == 400
