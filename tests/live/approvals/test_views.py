"""The inbox and its parts, by requests alone: what is shown, to whom, and what a click does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.test import Client
from django.utils import timezone

from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState
from tests.support import seed
from tests.support.html import elements, html_of, levels

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

HoldPod = Callable[..., ApprovalRequest]
ClientAs = Callable[[str], Client]


def text(client: Client, address: str = "/approvals/", **data: str) -> str:
    answer = client.get(address, data)
    assert answer.status_code == 200
    return html_of(answer)


def opened(page: Any) -> str:
    """The pod whose request is open beside the list, and may be approved there."""
    [pane] = elements(page, "#pane button[value=approve] .decide-pod")
    name: str = page.context["item"].row.name
    assert pane.text == name
    return name


def test_the_nearest_deadline_comes_first_and_its_pane_is_open(hold_pod: HoldPod, client_as: ClientAs) -> None:
    hold_pod("later")
    hold_pod("sooner", seconds=120, margin=0)
    page = client_as("approver").get("/approvals/")
    assert [item.row.name for item in page.context["items"]] == ["sooner", "later"]
    assert [element.text for element in elements(page, "#mail strong")] == ["default/sooner", "default/later"]
    assert opened(page) == "sooner"
    assert "default/sooner will run on node-1: 464, 4 ahead of node-2." in html_of(page)


def test_another_one_is_chosen_by_its_address(hold_pod: HoldPod, client_as: ClientAs) -> None:
    hold_pod("sooner", seconds=120)
    later = hold_pod("later")
    assert opened(client_as("approver").get("/approvals/", {"request": str(later.pk)})) == "later"


def test_who_may_not_decide_sees_no_buttons(hold_pod: HoldPod, client_as: ClientAs) -> None:
    hold_pod(approvals=[{"role": "admin", "count": 1}])
    assert not elements(client_as("viewer").get("/approvals/"), "button[name=verdict]")
    page = client_as("approver").get("/approvals/")
    assert "decide about default/web-1: it waits for one admin." in page.context["item"].refusal
    assert page.context["item"].refusal in html_of(page)
    assert not elements(page, "#pane button[name=verdict]")


def test_ticked_ones_are_approved_and_the_rest_is_told(hold_pod: HoldPod, client_as: ClientAs) -> None:
    rows = [hold_pod(name) for name in ("a", "b")]
    client = client_as("approver")
    data = {"requests": [str(row.pk) for row in rows], "verdict": "approve"}
    answer = client.post("/approvals/decide/", data, follow=True)
    assert levels(answer) == ["success"]
    assert set(ApprovalRequest.objects.values_list("state", flat=True)) == {ApprovalState.APPROVED}


def test_a_denial_without_a_reason_comes_back_with_the_ticks_kept(hold_pod: HoldPod, client_as: ClientAs) -> None:
    row = hold_pod()
    client = client_as("approver")
    posted = client.post("/approvals/decide/", {"requests": [str(row.pk)], "verdict": "deny"})
    assert (posted.status_code, posted.headers["Location"]) == (302, f"/approvals/?request={row.pk}")
    answer = client.get(posted.headers["Location"])
    assert elements(answer, "#decide-reason[aria-invalid=true][aria-describedby=decide-error]")
    assert elements(answer, "#decide-error")
    assert elements(answer, f"#mail input[name=requests][value={row.pk}][checked]")


def test_a_denial_of_the_open_one_without_a_reason_comes_back_at_its_pane(
    hold_pod: HoldPod, client_as: ClientAs
) -> None:
    row, client = hold_pod(), client_as("approver")
    data = {"requests": [str(row.pk)], "open": "1", "verdict": "deny"}
    answer = client.post("/approvals/decide/", data, follow=True)
    assert elements(answer, "#pane-reason[aria-invalid=true][aria-describedby=pane-error]")
    assert not elements(answer, "#mail input[checked]")
    assert not elements(client.get("/approvals/"), "#pane-error")  # told once


def test_nothing_ticked_decides_nothing(hold_pod: HoldPod, client_as: ClientAs) -> None:
    row = hold_pod()
    answer = client_as("approver").post("/approvals/decide/", {"verdict": "approve"}, follow=True)
    assert "Choose at least one request." in html_of(answer)
    row.refresh_from_db()
    assert row.state == ApprovalState.WAITING


def test_news_are_counted_since_the_page_was_shown(hold_pod: HoldPod, client_as: ClientAs, approver: User) -> None:
    row = hold_pod("old")
    client = client_as("approver")
    since = timezone.now().isoformat()
    assert client.get("/approvals/news/", {"since": since}).content.strip() == b""
    hold_pod("new")
    client.post("/approvals/decide/", {"requests": [str(row.pk)], "verdict": "approve"})
    assert "1 new, 1 decided" in text(client, "/approvals/news/", since=since)
    assert client.get("/approvals/news/", {"since": "yesterday"}).status_code == 404


def test_the_badge_counts_those_that_wait(hold_pod: HoldPod, client_as: ClientAs) -> None:
    hold_pod("a")
    hold_pod("b")
    client = client_as("viewer")
    for address in ("/approvals/badge/", "/settings/"):
        assert [badge.text for badge in elements(client.get(address), ".rail-badge .badge.amber")] == ["2 waiting"]


def test_who_looks_at_the_inbox_ends_what_has_expired(hold_pod: HoldPod, client_as: ClientAs) -> None:
    row = hold_pod()
    now = timezone.now()
    ApprovalRequest.objects.filter(pk=row.pk).update(asked_at=now - timedelta(hours=1), expires_at=now)
    assert client_as("viewer").get("/approvals/").context["items"] == []
    row.refresh_from_db()
    assert row.state == ApprovalState.EXPIRED


def test_the_node_is_shown_then_and_now(hold_pod: HoldPod, client_as: ClientAs, admin: User) -> None:
    row = hold_pod(node="node-00000")
    cluster = row.scheduler.cluster
    objects = [seed.node("node-00000", cpu="4", memory="8Gi"), seed.pod("r", cpu="2500m", bound_to="node-00000")]
    seed.imported("other", objects, admin)
    cluster.snapshots.model.objects.update(cluster=cluster)
    page_text = text(client_as("viewer"), f"/approvals/{row.pk}/")
    assert "1.5 of 4 CPU" in page_text
    assert "<strong>2.5 of 4 CPU" in page_text
    assert "61.5 %" in page_text


def test_the_history_is_filtered_and_downloaded(hold_pod: HoldPod, client_as: ClientAs) -> None:
    hold_pod("a")
    hold_pod("b")
    client = client_as("approver")
    ids = [str(pk) for pk in ApprovalRequest.objects.filter(name="a").values_list("pk", flat=True)]
    client.post("/approvals/decide/", {"requests": ids, "verdict": "deny", "reason": "=cmd"})
    page_text = text(client, "/approvals/history/", state="denied")
    assert "default/a" in page_text
    assert "default/b" not in page_text
    answer = client.get("/approvals/history/", {"state": "denied", "format": "csv"})
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines[0].startswith("asked_at,cluster,namespace,name")
    assert ",denied,approver," in lines[1]
    assert "denied by approver: =cmd" in lines[1]


def test_the_inbox_offers_to_undo_what_was_decided_last(hold_pod: HoldPod, client_as: ClientAs) -> None:
    rows = [hold_pod(name) for name in ("a", "b")]
    client = client_as("approver")
    data = {"requests": [str(row.pk) for row in rows], "verdict": "approve"}
    page = client.post("/approvals/decide/", data, follow=True)
    fields = elements(page, "form[data-undo] input[name=requests]")
    assert {field["value"] for field in fields} == set(data["requests"])
    undone = client.post("/approvals/undo/", {"requests": data["requests"]}, follow=True)
    assert levels(undone) == ["success"]
    assert set(ApprovalRequest.objects.values_list("state", flat=True)) == {ApprovalState.WAITING}
    assert not elements(undone, "form[data-undo]")


def test_who_was_slower_keeps_the_reason_that_was_typed(hold_pod: HoldPod, client_as: ClientAs, approver: User) -> None:
    row = hold_pod()
    client_as("admin").post("/approvals/decide/", {"requests": [str(row.pk)], "verdict": "approve"})
    data = {"requests": [str(row.pk)], "open": "1", "verdict": "deny", "reason": "kept for you"}
    page = client_as("approver").post("/approvals/decide/", data, follow=True)
    assert page.redirect_chain[-1][0] == f"/approvals/{row.pk}/"
    assert levels(page) == ["error"]
    assert "kept for you" in html_of(page)
