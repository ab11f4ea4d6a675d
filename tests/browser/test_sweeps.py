"""A sweep in Chromium: chosen in the form, done, its front and curves seen, its best trial saved as a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.playground.sweeps.models import Sweep
from kschedweb.policies.models import Policy
from tests.browser.test_every_page import OVERFLOW, keep_screenshot
from tests.support import seed_runs, seed_sweeps
from tests.support.tiers import one_of


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "dark"), one_of((1440, False), (390, True)))
def test_weights_are_swept_and_the_best_trial_becomes_a_policy(
    live_server: Any, admin: User, page_as: Callable[..., Any], axe: Callable[[Any], None], width: int, dark: bool
) -> None:
    seed_runs.scenario(admin, pods=10)
    page, theme = page_as("admin", width=width, dark=dark), "dark" if dark else "light"
    page.goto("/sweeps/new/")
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("NodeResourcesFit", exact=True).check()
    page.get_by_label("NodeResourcesFit from").fill("5")
    page.get_by_label("NodeResourcesFit to").fill("3")
    page.get_by_text("Arguments and other fields").click()
    page.get_by_label("NodeResourcesFit scoringStrategy.type", exact=True).check()
    page.get_by_label("Method").select_option("grid")
    page.get_by_role("button", name="Start").click()
    page.get_by_text("must be above from (5)").wait_for()
    keep_screenshot(page, "sweep-new", width, theme)
    page.get_by_label("NodeResourcesFit from").fill("0")
    page.get_by_role("button", name="Start").click()
    page.get_by_text("0 of 8 trials done").wait_for()
    seed_sweeps.work_off()
    page.locator("[data-figure=pareto-figure] .plot-container").wait_for()
    assert "Best trade-offs" in page.locator("h1").inner_text()
    page.locator("[data-figure=curve-2-1-figure] .plot-container").wait_for()
    keep_screenshot(page, "sweep", width, theme)
    assert page.evaluate(OVERFLOW) <= 0
    axe(page)
    best = page.locator("#save-trial").input_value()
    page.get_by_label("As policy").fill("tuned-here")
    page.get_by_role("button", name="Save as policy").click()
    page.get_by_text(f"Trial {best} saved as revision 1 of tuned-here.").wait_for()
    revision = Policy.objects.get(name="tuned-here").revisions.get()
    assert revision.comment.startswith(f"Trial {best} of the sweep “{Sweep.objects.get().title}”")
