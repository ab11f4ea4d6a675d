"""The inbox in Chromium: by keys, by ticks, without JavaScript; and new requests announce themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState
from kschedweb.live.schedulers.models import LiveScheduler
from tests.support import seed_approvals, seed_live
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

PageAs = Callable[..., Any]


@pytest.fixture
def live(live_server: Any, admin: User) -> LiveScheduler:
    """A live scheduler that holds three pods: web-0 runs out first."""
    scheduler: LiveScheduler = seed_live.scheduler(admin)
    for number in range(3):
        seed_approvals.request(scheduler, f"web-{number}", seconds=600.0 * (number + 1))
    return scheduler


def request_states() -> dict[str, str]:
    return dict(ApprovalRequest.objects.values_list("name", "state"))


def test_requests_are_walked_approved_and_denied_by_keys(live: LiveScheduler, page_as: PageAs, axe: Any) -> None:
    page = page_as("approver")
    page.goto("/approvals/")
    assert page.locator("h1").inner_text() == "3 pods are waiting for approval"
    pane = page.locator("#pane")
    assert "default/web-0 will run on node-00001" in pane.inner_text()
    axe(page)
    page.keyboard.press("j")
    pane.get_by_text("default/web-1 will run on").wait_for()
    assert "request=" in page.url
    page.keyboard.press("a")
    page.get_by_text("Approved: default/web-1.").wait_for()
    assert request_states() == {
        "web-0": ApprovalState.WAITING,
        "web-1": ApprovalState.APPROVED,
        "web-2": ApprovalState.WAITING,
    }
    page.keyboard.press("d")
    assert page.evaluate("document.activeElement.id") == "pane-reason"
    page.keyboard.type("no dead code today")  # letters in the field are no commands
    page.keyboard.press("Enter")
    page.get_by_text("Denied: default/web-0.").wait_for()
    assert request_states() == {
        "web-0": ApprovalState.DENIED,
        "web-1": ApprovalState.APPROVED,
        "web-2": ApprovalState.WAITING,
    }
    assert ApprovalRequest.objects.get(name="web-0").reason == "denied by approver: no dead code today"


def test_no_button_decides_what_is_neither_open_nor_ticked(live: LiveScheduler, page_as: PageAs) -> None:
    page = page_as("approver", width=390)
    page.goto("/approvals/")
    # On a phone the bar comes with the first tick.
    approve = page.locator("#decide button[value=approve]")
    assert approve.is_disabled()
    page.get_by_label("Select default/web-2").check()
    approve.click()
    page.get_by_text("Approved: default/web-2.").wait_for()
    assert request_states() == {
        "web-0": ApprovalState.WAITING,
        "web-1": ApprovalState.WAITING,
        "web-2": ApprovalState.APPROVED,
    }
    page.keyboard.press("?")
    assert "Approve or deny the selected requests, or else the open one" in page.locator("#shortcuts").inner_text()


@pytest.mark.nightly
def test_several_are_ticked_by_keys_and_approved_together(live: LiveScheduler, page_as: PageAs) -> None:
    page = page_as("approver", dark=True)
    page.goto("/approvals/")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.locator("#pane").get_by_text("default/web-1 will run on").wait_for()
    page.keyboard.press("x")
    page.get_by_text("2 selected.").wait_for()
    page.keyboard.press("a")
    page.get_by_text("Approved: default/web-0, default/web-1.").wait_for()
    assert request_states()["web-2"] == ApprovalState.WAITING


def test_a_new_request_announces_itself_and_nothing_moves(live: LiveScheduler, page_as: PageAs) -> None:
    page = page_as("approver")
    page.goto("/approvals/")
    row = page.locator(".mail-row").first
    before = row.bounding_box()
    seed_approvals.request(live, "late")
    page.get_by_role("link", name="1 new, show").wait_for()
    assert row.bounding_box() == before
    assert page.locator(".mail-row").count() == 3
    page.get_by_role("link", name="1 new, show").click()
    page.locator(".mail-row", has_text="default/late").wait_for()


@pytest.mark.nightly
def test_time_runs_down_while_the_page_is_open(live: LiveScheduler, page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/approvals/")
    countdown = page.locator("[data-left]").first
    first = countdown.inner_text()
    assert first.endswith("left")
    page.wait_for_function("text => document.querySelector('[data-left]').textContent !== text", arg=first)


@pytest.mark.parametrize("width", one_of(1440, 390))
def test_one_is_denied_without_javascript(live: LiveScheduler, page_as: PageAs, width: int) -> None:
    page = page_as("approver", javascript=False, width=width)
    page.goto("/approvals/")
    page.get_by_label("Select default/web-2").check()
    page.locator("#decide").get_by_role("button", name="Deny").click()
    page.get_by_text("A reason is required").wait_for()
    assert page.get_by_label("Select default/web-2").is_checked()
    page.locator("#decide-reason").fill("not today")
    page.locator("#decide").get_by_role("button", name="Deny").click()
    page.get_by_text("Denied: default/web-2.").wait_for()
    assert request_states() == {
        "web-0": ApprovalState.WAITING,
        "web-1": ApprovalState.WAITING,
        "web-2": ApprovalState.DENIED,
    }


@pytest.mark.nightly
def test_an_admin_makes_an_endpoint_and_sees_its_secret_once(
    live_server: Any, page_as: PageAs, axe: Any, settings: Any
) -> None:
    settings.CLUSTER_ALLOWLIST = ["192.0.2.0/24"]
    page = page_as("admin")
    page.goto("/approvals/webhooks/new/")
    page.locator("#id_name").fill("chat")
    page.get_by_label("Address").fill("https://198.51.100.7/hook")
    page.get_by_role("button", name="Create endpoint").click()
    assert page.locator("#id_url-error").is_visible()
    page.get_by_label("Address").fill("https://192.0.2.7/hook")
    page.get_by_role("button", name="Create endpoint").click()
    assert page.locator("#webhook-key").inner_text().startswith("whsec_")
    axe(page)
    page.goto("/approvals/webhooks/")
    page.get_by_role("link", name="chat", exact=True).click()
    assert page.locator("#webhook-key").count() == 0
