"""From what Karpenter would do now to a NodePool that is changed, and compared over a day, in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from kschedweb.accounts.models import User
from kschedweb.advice.autoscaling import services
from kschedweb.clusters import demo
from kschedweb.playground.runs.selectors import revision_get
from kschedweb.playground.runs.services import comparison_start
from kschedweb.playground.scenarios.ready import all_ready
from kschedweb.playground.scenarios.services import scenario_create
from kschedweb.policies.services import policy_create
from tests.browser.test_every_page import OVERFLOW
from tests.support import seed_recordings, seed_runs
from tests.support.seed import imported
from tests.support.seed_karpenter import DOCUMENT, karpenter

pytestmark = pytest.mark.django_db(transaction=True)
BURST = next(scenario.text for scenario in all_ready() if scenario.key == "burst-karpenter").replace(
    "until: 2h", "until: 24h"
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes no job of a quick question."""
    services.clear_cache()
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)


@pytest.mark.nightly
def test_a_nodepool_is_changed_and_compared_over_a_day(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User
) -> None:
    imported("demo", demo.generate_cluster(), editor)
    policy_create(name="nodepools", document=DOCUMENT.replace("cpu: 100 ", "cpu: 9000 "), author=editor)
    scenario = scenario_create(text=BURST.replace("A burst with Karpenter", "A day"), author=editor)
    day = revision_get(scenario)
    page = page_as("editor")

    page.goto("/autoscaling/?cluster=demo")
    expect(page.locator("main")).to_contain_text("Karpenter does not manage 60 nodes")
    page.get_by_label("NodePools").select_option("nodepools@1")
    page.get_by_label("Count all nodes as of NodePool").fill("general")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("h1")).to_contain_text("Karpenter would launch")
    axe(page)
    page.locator("#reasons-title ~ .table-box a").first.click()
    expect(page.locator("[data-verdict='goes']").first).to_be_visible()
    expect(page.locator("[data-verdict='stays']")).to_have_count(0)
    page.locator("[data-verdict='goes'] summary").first.click()
    expect(page.locator("[data-verdict='goes'] details[open]").first).to_contain_text("let")

    page.goto("/policies/nodepools/")
    page.wait_for_load_state()  # a change before the scripts are there is shown when the form is sent
    page.get_by_label("consolidationPolicy").select_option("WhenEmpty")
    expect(page.locator("#policy-effective")).to_contain_text("consolidationPolicy")
    axe(page)
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("Revision 2")

    calm, eager = "default@1+nodepools@2", "default@1+nodepools@1"
    page.goto("/runs/new/")
    page.locator("#id_scenario").select_option(label="A day, revision 1")
    page.locator("#id_policy").select_option("default@1")
    page.locator("#id_nodepools").select_option("nodepools@2")
    page.locator("main").get_by_role("button", name="Run").click()
    seed_runs.work_off()
    expect(page.locator("#deeds-title")).to_be_visible()
    axe(page)

    comparison = comparison_start(user=editor, revision=day, policies=[eager, calm], seeds=[1])
    seed_runs.work_off()
    page.goto(f"/comparisons/{comparison.pk}/")
    expect(page.locator("h1")).to_contain_text(calm)
    expect(page.locator("main")).to_contain_text("Cost of nodes")
    expect(page.locator("main")).to_contain_text("Evictions an hour")
    axe(page)


def test_a_nodepool_is_changed_in_the_form_and_a_recorded_day_compared(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User
) -> None:
    imported("demo", demo.generate_cluster(), editor)
    karpenter(editor)
    recording = seed_recordings.recording(editor, hours=24)
    page = page_as("editor")
    page.goto("/autoscaling/?cluster=demo&nodepools=nodepools@1&pool=general")
    page.get_by_role("link", name="Compare over a day").click()
    expect(page.locator("h1")).to_contain_text("nodepools, revision 1")
    page.locator("#id_day").select_option(f"recording:{recording.pk}")
    expect(page.get_by_label("Count recorded nodes as of NodePool")).to_have_value("general")
    page.wait_for_load_state()  # a change before the scripts are there is shown when the form is sent
    page.get_by_label("consolidationPolicy").select_option("WhenEmpty")
    expect(page.locator("#policy-effective")).to_contain_text("WhenEmpty")
    axe(page)
    page.get_by_role("button", name="Compare before and after").click()
    expect(page).to_have_url(re.compile("/comparisons/"))
    seed_runs.work_off()
    for name in ("nodes", "cost", "evictions"):
        expect(page.locator(f"[data-scaled={name}] td")).to_have_count(2)
    before, after = (float(text) for text in page.locator("[data-scaled=nodes] td").all_inner_texts())
    assert before < after, "nodes whose pods fit elsewhere stay"
    axe(page)
    assert page.evaluate(OVERFLOW) <= 0


def test_a_problem_in_a_nodepool_stands_at_its_field_and_the_day_stays_chosen(
    page_as: Callable[..., Any], editor: User
) -> None:
    karpenter(editor)
    recording = seed_recordings.recording(editor)
    page = page_as("editor", width=390, dark=True)
    page.goto("/policies/nodepools/")
    page.get_by_label("consolidateAfter").fill("soon")
    page.get_by_role("button", name="Compare over a day").click()
    expect(page.get_by_label("consolidateAfter")).to_have_value("soon")
    page.locator("#id_day").select_option(f"recording:{recording.pk}")
    page.get_by_role("button", name="Compare before and after").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was started.")
    expect(page.get_by_label("consolidateAfter")).to_have_value("soon")
    expect(page.get_by_label("consolidateAfter").locator("xpath=..")).to_contain_text("consolidateAfter")
    expect(page.locator("#id_day")).to_have_value(f"recording:{recording.pk}")
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_the_page_holds_its_tables(page_as: Callable[..., Any], editor: User, width: int, dark: bool) -> None:
    imported("demo", demo.generate_cluster(), editor)
    page = page_as("viewer", width=width, dark=dark)
    page.goto("/autoscaling/?cluster=demo&pool=default")
    expect(page.locator("#nodes-title")).to_be_visible()
    assert page.evaluate(OVERFLOW) == 0


@pytest.mark.parametrize("width", [1440, 390])
def test_node_groups_are_asked_about(
    page_as: Callable[..., Any], axe: Callable[[Any], None], editor: User, width: int
) -> None:
    imported("demo", demo.generate_cluster(), editor)
    services.clear_cache()
    page = page_as("viewer")
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/autoscaling/?cluster=demo")
    page.get_by_role("link", name="Cluster Autoscaler").click()
    document = page.get_by_label("Node groups as YAML")
    ready = document.input_value()
    document.fill(ready.replace("expander: least-waste", "expander: cheapest"))
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#document-error")).to_contain_text("expander")
    axe(page)
    document.fill(ready)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("h1")).to_contain_text("cluster-autoscaler would add")
    page.locator("[data-verdict='goes'] summary").first.click()
    expect(page.locator("[data-verdict='goes'] details[open]").first).to_contain_text("below the threshold")
    assert not page.evaluate(OVERFLOW)
    axe(page)
