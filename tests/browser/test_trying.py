"""A policy change through the one door, in Chromium: counted in presses, and held against calls of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.clusters.services import demo_load
from kschedweb.engine.releases import load
from kschedweb.engine.studies.gate import gate
from kschedweb.engine.studies.trying.policy_effect import PolicyEffect, play_both
from kschedweb.playground.trying import services
from kschedweb.playground.trying.models import TriedChange
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.watermarks.selectors import current_watermarks
from tests.browser.test_every_page import OVERFLOW
from tests.support import seed
from tests.support.tour import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.clusters.models import Snapshot

PATIENT = 600  # seconds for an answer at once, however busy the machine is


class CountingVisitor(Visitor):
    """A person who counts what they press, type and choose."""

    steps = 0

    def follow(self, clause: Any) -> None:
        self.steps += clause.verb in ("press", "type", "choose", "tick", "unfold")
        super().follow(clause)


@pytest.fixture
def demo(live_server: Any, admin: User, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    monkeypatch.setattr(services, "SECONDS", float(PATIENT))
    cluster = demo_load(user=admin)
    snapshot = cluster.snapshots.get()
    nodes = [raw["metadata"]["name"] for raw in snapshot_objects(snapshot) if raw["kind"] == "Node"]
    seed.measured("demo", nodes, hours=1, end=snapshot.taken_at.timestamp())
    return snapshot


@pytest.fixture
def open_overview(page_as: Callable[..., Page], demo: Snapshot) -> Callable[..., Page]:
    """The overview of the demo, for a person who waits as long as an answer takes."""

    def open_window(**window: Any) -> Page:
        page = page_as("editor", **window)
        page.set_default_timeout(PATIENT * 1000)
        page.goto("/?cluster=demo")
        return page

    return open_window


def compute_effects(snapshot: Snapshot, document: str) -> dict[str, PolicyEffect]:
    """Compute the effects of ``document`` against the default policy, by which pods are placed."""
    current_configuration, changed_configuration = (
        load(revision_get(policy_get("default")).document).configuration,
        load(document).configuration,
    )
    assert current_configuration is not None
    assert changed_configuration is not None
    taken_at = snapshot.taken_at.timestamp()
    watermarks = current_watermarks(snapshot.cluster, taken_at)
    objects = snapshot_objects(snapshot)
    return {
        place: play_both(
            gate.prepared_of(objects, place=place, now=taken_at, utilisation=watermarks),
            current_configuration,
            changed_configuration,
            lambda *_: None,
            only_waiting=place == "pending",
        )
        for place in ("pending", "all")
    }


def test_two_presses_lead_to_an_answer_with_the_engines_numbers(
    demo: Snapshot, open_overview: Callable[..., Page], axe: Callable[[Any], None]
) -> None:
    page = open_overview(width=390, dark=True)
    visitor = CountingVisitor(page)
    visitor.do("1. Press **Try a policy change**.")
    page.get_by_label("Pack pods onto fewer nodes").check()
    page.locator("#effect .nodemap-svg").first.wait_for()
    assert not TriedChange.objects.exists()
    axe(page)
    page.get_by_role("button", name="Next").click()
    page.locator("#next").wait_for()
    tried_change = TriedChange.objects.get()
    effects = compute_effects(demo, tried_change.document)
    pending, anew, nodes = effects["pending"].counts, effects["all"].counts, effects["all"].nodes()
    use = {row["name"]: row for row in effects["all"].list_measures(at_end=True)}["use_skew_cpu_end"]
    tiles = [text.split() for text in page.locator(".stats .stat b").all_inner_texts()]
    assert tiles[0][-1] == str(pending["placed"]["changed"])
    assert tiles[1][-1] == str(nodes["changed"])
    assert float(tiles[2][-2]) == pytest.approx(use["changed"], rel=0.01)
    assert tiles[3][-1] == str(anew["moved"])
    assert anew["moved"] > 100
    rows = page.locator("#pending tbody tr")
    expected_rows = {row["pod"]: (row["current"], row["changed"]) for row in effects["pending"].changes}
    assert rows.count() == len(expected_rows) > 0
    for row in rows.all():
        cells = row.locator("td.node")
        shown_row = tuple(cells.nth(at).inner_text().removeprefix("no node") for at in range(2))
        assert shown_row == expected_rows[row.get_attribute("data-pod") or ""]
    assert page.evaluate(OVERFLOW) <= 0
    axe(page)


def test_a_change_in_the_form_is_tried_and_kept_as_a_draft(
    open_overview: Callable[..., Page], axe: Callable[[Any], None]
) -> None:
    page = open_overview()
    visitor = CountingVisitor(page)
    visitor.do(
        "1. Press **Try a policy change**.",
        "2. Unfold **Any change: form and YAML**.",
        "3. Under **NodeResourcesFit**, unfold **Arguments** and choose `MostAllocated` for **type**.",
    )
    assert "MostAllocated" in page.locator(".cm-content").inner_text()
    axe(page)
    visitor.do(
        "4. Press **Try this document**.",
        "5. Under **Save it**, choose `a draft` for **Save as** and type `packing` into **Name of the draft**.",
        "6. Press **Save the change**, and you see “Saved as revision 1 of packing.”",
    )
    assert revision_get(policy_get("packing")).document == TriedChange.objects.get().document
    assert policy_get("default").newest == 1


@pytest.mark.nightly
def test_text_with_an_error_is_not_lost(open_overview: Callable[..., Page]) -> None:
    page = open_overview()
    page.goto("/trying/?cluster=demo&policy=default")
    visitor = CountingVisitor(page)
    visitor.do("1. Unfold **Any change: form and YAML**.")
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("parallelism: -1")
    page.locator("#policy-problems .notice").wait_for()
    visitor.do("2. Press **Try this document**.")
    assert "parallelism: -1" in page.locator(".cm-content").inner_text()
    assert "parallelism" in page.locator("#policy-problems").inner_text()
    assert not TriedChange.objects.exists()


def test_the_door_opens_without_javascript(open_overview: Callable[..., Page]) -> None:
    page = open_overview(javascript=False)
    page.get_by_role("link", name="Try a policy change").click()
    page.get_by_role("spinbutton", name="Prefer empty nodes").fill("5")
    page.get_by_role("button", name="Show the effect").click()
    page.locator("#next").wait_for()
    tried_change = TriedChange.objects.get()
    assert tried_change.change == "NodeResourcesFit weight: 1 → 5"
    page.locator("summary", has_text="Any change").click()
    page.locator("textarea#document").fill("kind: [")
    page.get_by_role("button", name="Try this document").click()
    assert page.locator("textarea#document").input_value() == "kind: ["
    assert "This is not YAML" in page.locator("#policy-problems").inner_text()
    assert TriedChange.objects.count() == 1
