"""A pod is explained by the scheduler that answers for it, on every page and over REST; a wait for people is said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from kschedweb.accounts.models import Grant, GrantScope, User
from kschedweb.accounts.reach import as_looker
from kschedweb.accounts.roles import Action, Role
from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.clusters.selectors import pod_refs, pod_rows
from kschedweb.decisions import services
from kschedweb.decisions.models import PendingOutcomes
from kschedweb.decisions.pending.services import work_out
from kschedweb.engine.json_types import Json
from kschedweb.fleet import selectors as fleet
from kschedweb.fleet.summaries import compute_summary
from kschedweb.live.approvals.models import ApprovalRequest
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies.models import Revision
from tests.decisions.conftest import HEAD
from tests.engine.builders import node, pod
from tests.engine.gangs import BY_TOPOLOGY, group
from tests.live.approvals.conftest import hold
from tests.support.html import elements, text

ROOMY = f"""{HEAD}profiles:
- schedulerName: roomy
  plugins: {{multiPoint: {{enabled: [{{name: NodeResourcesFit, weight: 9}}]}}}}
"""
WAITS = "Waits for approval for 12 min: n1, one approver"
PAGE_PATH, REST_PATH = "/decision/lab/{}/", "/api/v1/clusters/lab/pods/{}/decision/"


def waiting_pod(name: str, scheduler: str, namespace: str = "default", **fields: Any) -> Json:
    pod_object = pod(name, schedulerName=scheduler, **fields)
    pod_object["metadata"] |= {"namespace": namespace, "uid": f"uid-{name}"}
    return pod_object


@pytest.fixture
def lab(store_snapshot: Callable[..., Snapshot], policy: Callable[..., Revision], revision: Revision) -> Snapshot:
    """Two nodes, a pod of each kind of scheduler, and the live scheduler ``guarded`` that pins the policy ``roomy``."""
    services.clear_caches()
    pinned = policy("roomy", ROOMY)
    pods = [waiting_pod("mine", "default-scheduler"), waiting_pod("held", "guarded"), waiting_pod("free", "guarded")]
    snapshot = store_snapshot([node("n0"), node("n1"), *pods, waiting_pod("theirs", "volcano")], "lab")
    LiveScheduler.objects.create(
        cluster=snapshot.cluster, scheduler_name="guarded", policy=pinned.policy, revision=pinned, mode="scheduling"
    )
    return snapshot


@pytest.fixture
def request_for_held(lab: Snapshot) -> ApprovalRequest:
    """The pod ``held`` has waited for 12 minutes."""
    request = hold(LiveScheduler.objects.get(cluster=lab.cluster), "held", node="n1")
    ApprovalRequest.objects.filter(pk=request.pk).update(asked_at=timezone.now() - timedelta(minutes=12, seconds=20))
    return request


def test_rest_explains_a_pod_by_its_scheduler(
    lab: Snapshot, request_for_held: ApprovalRequest, api_as: Callable[[str], Any]
) -> None:
    answers = {
        name: api_as("viewer").get(REST_PATH.format(f"default/{name}")) for name in ("mine", "held", "free", "theirs")
    }
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 200)
    decisions = {name: answer.json() for name, answer in answers.items()}
    assert {
        name: (decision["status"], decision["scheduler"]["answered_by"], decision["policy"])
        for name, decision in decisions.items()
    } == {
        "mine": ("decided", "policy", "default"),
        "held": ("waiting_for_approval", "live", "roomy"),
        "free": ("decided", "live", "roomy"),
        "theirs": ("handled_elsewhere", "unknown", "default"),
    }
    assert decisions["free"]["scores"]["NodeResourcesFit"]["weight"] == 9
    assert (decisions["theirs"]["message"], decisions["theirs"]["feasible"]) == ("Handled by volcano", None)
    assert decisions["held"]["approval"]["id"] == str(request_for_held.pk)
    assert decisions["held"]["approval"]["sentence"] == WAITS


def test_the_page_of_a_pod_says_who_decides(
    lab: Snapshot, request_for_held: ApprovalRequest, client_as: Callable[[str], Client]
) -> None:
    client = client_as("viewer")
    held_page = client.get(PAGE_PATH.format("default/held"))
    assert held_page.context["answer"].title == "held waits for approval for 12 min: n1, one approver"
    assert elements(held_page, f"a[href=/approvals/{request_for_held.pk}/]")
    free = client.get(PAGE_PATH.format("default/free"))
    assert elements(free, "[data-answered-by=live]")
    assert free.context["revision"].policy.name == "roomy"
    theirs = client.get(PAGE_PATH.format("default/theirs"))
    assert theirs.status_code == 200
    assert "theirs is handled by volcano" in text(theirs)
    assert not elements(theirs, "[role=alert]")
    # A live scheduler runs the only profile of a policy under its own name: so may a policy to compare with.
    assert client.get(PAGE_PATH.format("default/free"), {"against": "default@1"}).context["comparison"] is not None


def test_lists_and_counts_have_causes_of_their_own(
    lab: Snapshot, request_for_held: ApprovalRequest, client_as: Callable[[str], Client], api_as: Callable[[str], Any]
) -> None:
    client = client_as("viewer")
    causes = [("fits now", 2), ("handled by volcano", 1), ("waits for approval", 1)]
    overview = client.get("/", {"cluster": "lab"})
    assert sorted(overview.context["reasons"]) == causes
    assert overview.context["explained_count"] == 4
    compute_summary(lab)
    (line,) = fleet.list_lines(fleet.fleet_list().filter(name="lab"))
    assert sorted(line.reasons) == causes
    pods = client.get("/pods/", {"cluster": "lab", "pending": "true"})
    assert WAITS in text(pods)
    assert "Handled by volcano" in text(pods)
    assert "profile not found" not in text(pods)
    (row,) = client.get("/pods/", {"cluster": "lab", "reason": "waits for approval"}).context["rows"]
    assert row.row.name == "held"
    together = api_as("viewer").get("/api/v1/clusters/lab/decisions/").json()["groups"]
    kinds = {group["kind"]: [pod["pod"] for pod in group["pods"]] for group in together}
    assert kinds.pop("fits") == ["default/free", "default/mine"]
    assert kinds == {"waiting": ["default/held"], "handled": ["default/theirs"]}


def test_who_may_not_see_a_request_learns_nothing_of_it(
    lab: Snapshot, request_for_held: ApprovalRequest, revision: Revision, django_user_model: type[User]
) -> None:
    """One person's answer is not cached for the next one, and cached answers reveal no request."""
    ApprovalRequest.objects.filter(pk=request_for_held.pk).update(namespace="others")
    person = django_user_model.objects.create(username="inside", role=Role.NONE)
    Grant.objects.create(user=person, role="viewer", scope=GrantScope.ALL, namespaces=["default"])
    pods = pod_refs(pod_rows(lab).filter(name="held"))
    assert services.summarize_pods(lab, revision, pods)["default/held"].wait is not None
    work_out(snapshot=lab, revision=revision, step=lambda *_: None)
    with as_looker(lambda: person.reach(Action.VIEW)):
        summary = services.summarize_pods(lab, revision, pods)["default/held"]
    assert summary.wait is None
    assert summary.node


def test_a_job_keeps_the_outcomes_of_each_answering_revision(lab: Snapshot, revision: Revision) -> None:
    pods = pod_refs(pod_rows(lab).filter(pending=True))
    summaries = services.summarize_pods(lab, revision, pods)
    assert work_out(snapshot=lab, revision=revision, step=lambda *_: None) == 3
    assert PendingOutcomes.objects.filter(snapshot=lab).count() == 2
    assert services.summarize_pods(lab, revision, pods, max_bytes=0, seconds=0.0) == summaries


def test_a_request_does_not_reach_back_into_an_older_snapshot(
    lab: Snapshot, request_for_held: ApprovalRequest, revision: Revision
) -> None:
    pods = pod_refs(pod_rows(lab).filter(name="held"))
    Snapshot.objects.filter(pk=lab.pk).update(taken_at=timezone.now() - timedelta(hours=1))
    older = Snapshot.objects.get(pk=lab.pk)
    assert services.summarize_pods(older, revision, pods)["default/held"].wait is not None  # the newest there is
    newer = Snapshot.objects.create(cluster=lab.cluster, complete=True, taken_at=timezone.now(), size=0, counts={})
    assert services.summarize_pods(older, revision, pods)["default/held"].wait is None
    assert PodRow.objects.filter(snapshot=newer).count() == 0


def test_a_group_is_explained_by_its_scheduler_too(
    lab: Snapshot,
    store_snapshot: Callable[..., Snapshot],
    policy: Callable[..., Revision],
    api_as: Callable[[str], Any],
    client_as: Callable[[str], Client],
) -> None:
    pinned = policy("gangs", ROOMY, {"release": "1.37", "featureGates": BY_TOPOLOGY})
    members = [waiting_pod(f"g-{at}", "guarded", schedulingGroup={"podGroupName": "gang"}) for at in range(2)]
    snapshot = store_snapshot([node("n0"), group("gang", 2), *members], "lab")
    live = LiveScheduler.objects.create(
        cluster=snapshot.cluster, scheduler_name="guarded", policy=pinned.policy, revision=pinned, mode="scheduling"
    )
    hold(live, "g-0", node="n0")
    answer = api_as("viewer").get("/api/v1/clusters/lab/podgroups/default/gang/").json()
    assert (answer["policy"], answer["scheduler"]) == ("gangs", {"name": "guarded", "answered_by": "live"})
    assert answer["title"] == "gang fits: all 2 pods go to n0"
    assert [approval["pod"] for approval in answer["approvals"]] == ["default/g-0"]
    page = client_as("viewer").get("/clusters/lab/podgroups/default/gang/")
    assert elements(page, "[data-answered-by=live]")
    assert elements(page, "[data-waiting=1]")
