"""The pages of live schedulers and of what they decided."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.models import Cluster
from kschedweb.engine.releases import RELEASES, get_release
from kschedweb.live.schedulers import services
from kschedweb.live.schedulers.models import Candidate, LiveScheduler, Mode
from kschedweb.policies.services import policy_create
from tests.support import seed_live
from tests.support.html import elements, html_of, levels, text

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
GATE = {"GenericWorkload": True}
FORM = {
    "cluster": "here", "scheduler_name": "second", "mode": "shadow", "policy": "default", "revision": "",
    "lock": "leases", "lease_namespace": "kube-system", "lease_name": "", "qps": "50", "burst": "100",
    "keep_decisions": "1000", "keep_days": "7", "keep_columns": "10",
}  # fmt: skip


ELECTS = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 30s, resourceName: batch}
"""


@pytest.fixture
def scheduling(admin: User) -> LiveScheduler:
    live: LiveScheduler = seed_live.scheduler(admin)
    return live


def test_an_admin_makes_a_live_scheduler(client_as: Callable[[str], Client], connected: Cluster) -> None:
    client = client_as("admin")
    answer = client.post("/live/new/", FORM)
    live = LiveScheduler.objects.get()
    assert answer.status_code == 302
    assert str(live.pk) in answer["Location"]
    assert (live.mode, live.revision and live.revision.number, live.keep_columns) == (Mode.SHADOW, 1, 10)
    assert [status.live for status in client.get("/live/").context["statuses"]] == [live]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cluster": "nowhere"}, "Select a valid choice"),
        ({"scheduler_name": "Second"}, "Lower-case letters, digits, hyphens and dots"),
        ({"revision": "7"}, "Policy default has no revision 7"),
        ({"revision": "x"}, "Policy default has no revision x"),
        ({"mode": "sleeping"}, "Select a valid choice"),
        ({"burst": "0"}, "at least 1 request"),
        ({"keep_days": "0"}, "greater than or equal to 1"),
        ({"lease_namespace": "Kube System"}, "This is no namespace in Kubernetes"),
        ({"lock": "etcd"}, "Select a valid choice"),
    ],
)
def test_wrong_input_is_said_beside_its_field(
    client_as: Callable[[str], Client], connected: Cluster, changes: dict[str, str], message: str
) -> None:
    answer = client_as("admin").post("/live/new/", {**FORM, **changes})
    assert 400 <= answer.status_code < 500
    [field] = changes
    assert message in " ".join(answer.context["form"].errors[field])
    assert len(elements(answer, ".field-error")) == 1
    assert not LiveScheduler.objects.exists()


def test_pages_and_rest_say_which_kube_scheduler_it_decides_as(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], live: LiveScheduler, connected: Cluster
) -> None:
    """The policy's release, with its feature gates, before the cluster's."""
    for version, process, title in (
        ("v1.35.7", {}, RELEASES["1.35"].title),
        ("v1.33.1", {}, RELEASES["1.34"].title),
        ("v1.35.7", {"release": "1.36", "featureGates": GATE}, RELEASES["1.36"].with_gates(GATE).title),
    ):
        Cluster.objects.filter(pk=connected.pk).update(server_version=version)
        live.policy.revisions.update(process=process)
        for address in ("/live/", f"/live/{live.pk}/", f"/live/{live.pk}/shadow/"):
            assert title in text(client_as("viewer").get(address)), address
        api = api_as("viewer")
        listed = api.get("/api/v1/live/").json()["results"]
        parts = [api.get(f"/api/v1/live/{live.pk}/{part}").json() for part in ("", "shadow/drift/")]
        assert all(part["engine"].endswith(f", {title}") for part in (*listed, *parts))
    Cluster.objects.filter(pk=connected.pk).update(server_version="v1.33.1")
    live.policy.revisions.update(process={})
    assert get_release("1.33").remark in text(client_as("viewer").get(f"/live/{live.pk}/"))


def test_who_places_groups_leads_to_what_each_waits_for(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    client, address = client_as("viewer"), f"/live/{scheduling.pk}/"
    assert not elements(client.get(address), "[data-groups]")
    scheduling.policy.revisions.update(process={"release": "1.37", "featureGates": GATE})
    [link] = elements(client.get(address), "[data-groups] a")
    assert link["href"] == f"/clusters/{scheduling.cluster.name}/podgroups/?policy={scheduling.policy.name}&revision=1"


def test_a_taken_name_is_said_beside_it(client_as: Callable[[str], Client], live: LiveScheduler) -> None:
    answer = client_as("admin").post("/live/new/", {**FORM, "scheduler_name": live.scheduler_name})
    assert answer.status_code == 409
    [error] = answer.context["form"].errors["scheduler_name"]
    assert "has a live scheduler named kschedweb already" in error


def test_settings_change(client_as: Callable[[str], Client], live: LiveScheduler) -> None:
    client = client_as("admin")
    assert elements(client.get(f"/live/{live.pk}/change/"), "input[name=qps][value=50]")
    form = {name: value for name, value in FORM.items() if name not in ("cluster", "scheduler_name", "mode")}
    assert client.post(f"/live/{live.pk}/change/", {**form, "qps": "0"}).status_code == 302
    live.refresh_from_db()
    assert live.qps == 0


def test_the_page_says_by_what_the_leader_is_elected_and_who_says_so(
    client_as: Callable[[str], Client], scheduling: LiveScheduler, admin: User
) -> None:
    policy = policy_create(name="elects", document=ELECTS, author=admin)
    revision = policy.revisions.select_related("policy").get()
    assert scheduling.revision is not None
    services.live_roll_out(user=admin, live=scheduling, revision=revision, expected=scheduling.revision)
    services.live_change(user=admin, live=scheduling, lease_name="mine")
    rows = elements(client_as("viewer").get(f"/live/{scheduling.pk}/"), "[data-setting]")
    settings = {row["data-setting"]: (row["data-source"], " ".join(row.text.split())) for row in rows}
    assert settings["leaseDuration"] == ("policy", "leaseDuration 30s the policy")
    assert settings["resourceLock"] == ("default", "resourceLock leases the default")
    name = "resourceName mine set for this live scheduler which wins over the policy's batch"
    assert settings["resourceName"] == ("scheduler", name)


def test_a_lock_that_another_would_not_be_kept_out_by_is_refused_beside_it(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    client, address = client_as("admin"), f"/live/{scheduling.pk}/"
    seed_live.hosted(scheduling)
    form = {name: value for name, value in FORM.items() if name not in ("cluster", "scheduler_name", "mode")}
    answer = client.post(f"{address}change/", {**form, "lock": "endpoints"})
    assert answer.status_code == 409
    [error] = elements(answer, "#id_lock-error")
    assert "Go by way of endpointsleases, or switch it off first." in error.text
    [lock_element] = elements(client.get(address), "[data-lock]")
    assert lock_element["data-lock"] == "leases"
    assert "The holder of the Lease kube-system/kschedweb-kschedweb leads" in lock_element.text
    assert client.post(f"{address}change/", {**form, "lock": "endpointsleases"}).status_code == 302
    page = client.get(address)
    assert [element["data-lock"] for element in elements(page, "[data-lock]")] == ["endpointsleases"]
    assert {element["data-still-by"] for element in elements(page, "[data-still-by]")} == {
        "leases kube-system/kschedweb-kschedweb"
    }


def test_what_keeps_it_from_work_is_said(client_as: Callable[[str], Client], scheduling: LiveScheduler) -> None:
    client = client_as("viewer")

    def state() -> str:
        page = client.get(f"/live/{scheduling.pk}/now/")
        status = page.context["status"]
        assert status.state in html_of(page)
        assert [notice.text for notice in elements(page, ".notice div")] == ([status.advice] if status.advice else [])
        return str(status.state)

    assert state() == "Not hosted"
    seed_live.hosted(scheduling)
    leading = Candidate.objects.filter(leading=True)
    assert state() == "Scheduling"
    leading.update(synced=False)
    assert state() == "Reading"
    leading.update(synced=True, ticked_at=timezone.now() - timedelta(seconds=30))
    assert state() == "Hanging"
    leading.update(leading=False)
    assert state() == "Without leader"
    Candidate.objects.update(heartbeat=timezone.now() - timedelta(minutes=1))
    assert state() == "Not hosted"


def test_an_extender_says_that_nobody_asks_and_then_what_was_answered(
    client_as: Callable[[str], Client], admin: User
) -> None:
    live = seed_live.scheduler(admin, mode="extender")
    client, address = client_as("viewer"), f"/live/{live.pk}/now/"
    assert client.get(address).context["status"].state == "Not asked"
    seed_live.hosted(live)
    # Whoever hosts it says so at once, before a kube-scheduler asks.
    Candidate.objects.update(leading=False)
    assert client.get(address).context["status"].state == "Not asked"
    Candidate.objects.update(error="The cluster cannot be reached at its address.")
    assert client.get(address).context["status"].state == "Without leader"
    Candidate.objects.all().delete()
    seed_live.hosted(live)
    Candidate.objects.filter(leading=True).update(depths={"nodes": 5, "pods": 7, "filter": 42})
    page = client.get(address)
    assert page.context["status"].state == "Answering"
    # What only a scheduler has, such as the time to a binding, is left out.
    assert [stat.text for stat in elements(page, ".stats .stat")] == ["5 nodes", "7 pods", "42 filter"]


def test_leader_standbys_depths_and_speed_are_shown(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    seed_live.hosted(scheduling)
    page = client_as("viewer").get(f"/live/{scheduling.pk}/")
    assert page.context["status"].leader.identity == "host-1_4711"
    rows = [(row.identity, row.leading) for row in page.context["candidates"]]
    assert rows == [("host-1_4711", True), ("host-2_4712", False)]
    assert [element.text for element in elements(page, "#live-now th[scope=row]")] == ["host-1_4711", "host-2_4712"]
    assert [element.text for element in elements(page, ".stats .stat b")][:3] == ["12.5", "41 ms", "320 ms"]
    assert elements(page, "[data-figure=depths-figure]")
    assert "Now 12.5 pods" in page.context["speed"].summary


def test_an_editor_pauses_steps_and_resumes(client_as: Callable[[str], Client], scheduling: LiveScheduler) -> None:
    client, address = client_as("editor"), f"/live/{scheduling.pk}/command"
    client.post(f"{address}/pause/")
    scheduling.refresh_from_db()
    assert scheduling.paused
    assert levels(client.post(f"{address}/step/", {"pods": "3"}, follow=True))[-1] == "success"
    assert levels(client.post(f"{address}/step/", {"pods": "0"}, follow=True))[-1] == "error"
    scheduling.refresh_from_db()
    assert scheduling.steps == 3
    client.post(f"{address}/resume/")
    scheduling.refresh_from_db()
    assert (scheduling.paused, scheduling.steps) == (False, 0)
    assert levels(client.post(f"{address}/step/", {"pods": "1"}, follow=True))[-1] == "error"
    assert client.post(f"{address}/jump/").status_code == 404
    assert set(AuditEntry.objects.values_list("verb", flat=True)) >= {"live.paused", "live.stepped", "live.resumed"}


def test_a_mode_is_confirmed_before_it_is_switched(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    client, address = client_as("admin"), f"/live/{scheduling.pk}/mode/"
    [mode_input] = elements(client.get(f"{address}?mode=off"), f"form[action={address}] input[name=mode]")
    assert mode_input["value"] == "off"
    scheduling.refresh_from_db()
    assert scheduling.mode == Mode.SCHEDULING
    assert client_as("editor").post(address, {"mode": "off"}).status_code == 403
    client.post(address, {"mode": "off"})
    scheduling.refresh_from_db()
    assert scheduling.mode == Mode.OFF


def test_it_is_deleted_by_its_name_once_it_is_off(
    client_as: Callable[[str], Client], scheduling: LiveScheduler, admin: User
) -> None:
    client, address = client_as("admin"), f"/live/{scheduling.pk}/delete/"
    for name in ("other", "kschedweb"):
        refused = client.post(address, {"name": name})
        assert refused.status_code == 400
        assert elements(refused, "#name-error")
        assert elements(refused, f"#main a[href=/live/{scheduling.pk}/mode/?mode=off]")
    services.live_set_mode(user=admin, live=scheduling, mode=Mode.OFF)
    assert client.post(address, {"name": "kschedweb"}).status_code == 302
    assert not LiveScheduler.objects.exists()


def test_decisions_are_filtered_paged_and_exported(client_as: Callable[[str], Client], admin: User) -> None:
    live, _ = seed_live.everything(120, admin)
    client, address = client_as("viewer"), f"/live/{live}/"
    first = client.get(address).context["page"]
    assert len(first.rows) == 50
    second = client.get(address, {"cursor": first.following}).context["page"]
    assert not {row.pk for row in first.rows} & {row.pk for row in second.rows}
    back = client.get(address, {"cursor": second.preceding}).context["page"]
    assert [row.pk for row in back.rows] == [row.pk for row in first.rows]
    denied = client.get(address, {"result": "denied"}).context["page"]
    assert {row.result for row in denied.rows} == {"denied"}
    assert len(client.get(address, {"search": "web-11"}).context["page"].rows) == 11
    assert client.get(address, {"cursor": "nonsense"}).status_code == 404
    lines = b"".join(client.get(address, {"result": "denied", "format": "csv"}).streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("at,namespace,name,uid")
    assert len(lines) == 31


def test_new_decisions_announce_themselves_and_the_filter_counts(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    client = client_as("viewer")
    opened = timezone.now()
    for name in ("web-1", "web-2"):
        seed_live.decision(scheduling, name)
    seed_live.decision(scheduling, "stuck", "unschedulable")
    address = f"/live/{scheduling.pk}/now/"
    all_of_them = client.get(address, {"opened": opened.isoformat()})
    assert all_of_them.context["new"] == 3
    assert [link["href"] for link in elements(all_of_them, ".announce a")] == [f"/live/{scheduling.pk}/"]
    some = client.get(address, {"opened": opened.isoformat(), "result": "unschedulable"})
    assert some.context["new"] == 1
    assert ["result=unschedulable" in link["href"] for link in elements(some, ".announce a")] == [True]
    assert not elements(client.get(address, {"opened": timezone.now().isoformat()}), ".announce")
    assert client.get(address, {"opened": "yesterday"}).status_code == 200


def test_a_decision_kept_in_full_shows_funnel_and_matrix(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    row = seed_live.explained(scheduling)
    client, address = client_as("viewer"), f"/live/{scheduling.pk}/decisions/{row.pk}/"
    page = client.get(address)
    assert page.context["title"].startswith(f"{row.name} went to {row.node}: ")
    assert len(page.context["explanation"].feasible) == 30
    assert "30 of 31" in html_of(page)
    fit = next(stage for stage in page.context["stages"] if stage.key == "NodeResourcesFit")
    assert (fit.lost, fit.note) == (1, "1 Insufficient cpu")
    assert "Filter (1.10 ms)" in page.context["durations"].summary
    small = client.get(address, {"node": "small"})
    assert "small has 50m CPU free of 50m CPU" in small.context["node_row"].reading.text
    assert "Insufficient cpu" in [verdict.status.message for verdict in small.context["verdicts"] if verdict.status]
    arithmetic_page = client.get(address, {"node": row.node, "cell": "NodeResourcesFit"})
    assert elements(arithmetic_page, f".arithmetic[data-announce=NodeResourcesFit on {row.node}]")
    assert "Strategy LeastAllocated" in html_of(arithmetic_page)
    assert arithmetic_page.context["then"]
    htmx = {"HX-Request": "true", "HX-Target": "cell"}
    cell = client.get(address, {"node": "small", "cell": "NodeResourcesFit"}, headers=htmx)
    assert "The arithmetic was kept for the 5 best nodes" in cell.context["arithmetic"].error
    assert not elements(cell, "html")
    nowhere = client.get(address, {"node": "nowhere"})
    assert "had no node nowhere" in nowhere.context["node_error"]
    assert elements(nowhere, "#why-error")
    rejected = client.get(address, {"stage": "NodeResourcesFit"}).context["rows"]
    assert [entry.node for entry in rejected] == ["small"]


def test_a_pod_that_fits_nowhere_is_told_what_it_lacked_then(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    row = seed_live.explained(scheduling, "stuck")
    page = client_as("viewer").get(f"/live/{scheduling.pk}/decisions/{row.pk}/")
    insight = page.context["insight"]
    assert insight.sentence.startswith("stuck is pending: ")
    assert "lacks only" in insight.miss.text
    assert insight.sentence in text(page)
    assert elements(page, f"a[href=?node={insight.miss.node}#why]")


def test_a_decision_that_was_drawn_says_among_how_many(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], admin: User
) -> None:
    live = seed_live.scheduler(admin)
    row = seed_live.explained(live)
    top = [row.top[1] | {"total": row.top[0]["total"]}, row.top[0]]
    row.node, row.top, row.margin, row.drawn = row.top[1]["node"], top, 0, 3
    row.save()
    page = client_as("viewer").get(f"/live/{live.pk}/decisions/{row.pk}/")
    assert "drawn among 3 nodes with the same total" in page.context["title"]
    assert [element["data-drawn"] for element in elements(page, "[data-drawn]")] == ["3"]
    body = api_as("viewer").get(f"/api/v1/live/{live.pk}/decisions/{row.pk}/").json()
    assert (body["drawn"], body["node"], body["explanation"]["chosen"]) == (3, row.node, row.node)


def test_a_decision_says_by_which_release_it_was_made_and_an_old_one_nothing(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], scheduling: LiveScheduler
) -> None:
    engine = RELEASES["1.36"].engine
    old, new = seed_live.decision(scheduling), seed_live.decision(scheduling, "web-1", engine=engine)
    viewer, address = client_as("viewer"), f"/live/{scheduling.pk}/"
    shown_engines = {
        item.pk: elements(viewer.get(f"{address}decisions/{item.pk}/"), "[data-engine]") for item in (old, new)
    }
    assert [item.text for item in shown_engines[new.pk]] == [engine]
    assert not shown_engines[old.pk]
    listed = api_as("viewer").get(f"/api/v1/live/{scheduling.pk}/decisions/").json()["results"]
    assert {item["name"]: item["engine"] for item in listed} == {"web-0": "", "web-1": engine}
    rows = viewer.get(address, {"format": "json"}).json()["items"]
    assert {item["name"]: item["engine"] for item in rows} == {"web-0": "", "web-1": engine}


def test_of_another_decision_the_best_nodes_are_shown_and_what_is_not_kept_is_said(
    client_as: Callable[[str], Client], scheduling: LiveScheduler
) -> None:
    row = seed_live.decision(scheduling)
    page = client_as("viewer").get(f"/live/{scheduling.pk}/decisions/{row.pk}/")
    title = "web-0 went to node-00001: total 463, 14 ahead of node-00002; NodeResourcesFit decided"
    assert page.context["title"] == title
    assert [candidate.node for candidate in page.context["best"]] == ["node-00001", "node-00002"]
    assert elements(page, "[data-not-kept]")
    row.top = row.top[:1]
    row.save()
    page = client_as("viewer").get(f"/live/{scheduling.pk}/decisions/{row.pk}/")
    assert page.context["title"] == "web-0 went to node-00001: total 463"
    stuck = seed_live.decision(scheduling, "stuck", "unschedulable")
    page = client_as("viewer").get(f"/live/{scheduling.pk}/decisions/{stuck.pk}/")
    assert page.context["title"] == "stuck fits on no node: 0/30 nodes are available: 30 Insufficient cpu"
    assert "Rejected by NodeResourcesFit" in html_of(page)
    stuck.rejected_by = []
    stuck.message = "pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    stuck.save()
    page = client_as("viewer").get(f"/live/{scheduling.pk}/decisions/{stuck.pk}/")
    title = (
        "stuck waits for its group, which finds no place: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"
    )
    assert page.context["title"] == title


def test_a_pods_decisions_are_listed_from_every_live_scheduler_of_its_cluster(
    client_as: Callable[[str], Client], scheduling: LiveScheduler, admin: User
) -> None:
    seed_live.decision(scheduling, "web-7", "unschedulable")
    seed_live.decision(seed_live.scheduler(admin, "other"), "web-7")
    seed_live.decision(seed_live.scheduler(admin, "third", cluster="elsewhere"), "web-7")
    client = client_as("viewer")
    response = client.get("/live/pod/watched/default/web-7/")
    assert len(response.context["page"].rows) == 2
    assert {row.name for row in response.context["page"].rows} == {"web-7"}
    assert client.get("/live/pod/watched/default/web-8/").context["page"].rows == []
    assert client.get("/live/pod/nowhere/default/web-7/").status_code == 404
