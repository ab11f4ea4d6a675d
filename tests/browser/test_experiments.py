"""An experiment in Chromium: chosen in the form, run, its figures and their numbers seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.jobs import services as jobs
from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.experiments.services import experiment_run
from tests.browser.test_every_page import OVERFLOW, keep_screenshot
from tests.support.tiers import one_of


@pytest.mark.nightly
@pytest.mark.parametrize(("width", "dark"), one_of((1440, False), (390, True)))
def test_policies_are_compared_on_a_made_up_day(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None], width: int, dark: bool
) -> None:
    page = page_as("admin", width=width, dark=dark)
    page.goto("/experiments/new/")
    page.locator("#id_policies").select_option(["default", "water-level"])
    page.locator("#id_nodes").fill("5")
    page.get_by_label("Deployments").fill("60")
    page.get_by_label("Mean use of nodes").fill("0.5")
    keep_screenshot(page, "experiment-new", width, "dark" if dark else "light")
    page.get_by_role("button", name="Start").click()
    page.get_by_text("Queued").first.wait_for()
    experiment = Experiment.objects.get()
    assert experiment.job is not None
    job = jobs.job_claim(str(experiment.job.pk))
    assert job is not None
    result = experiment_run(experiment=experiment, step=lambda text, completed, total: None)
    assert jobs.job_succeed(job, result)
    # The page sees by itself that the job is done.
    page.locator(".chart .plot-container").nth(1).wait_for()
    assert page.get_by_text("Queued").count() == 0
    assert page.locator(".chart").first.locator(".legendtext").count() == 2
    keep_screenshot(page, "experiment", width, "dark" if dark else "light")
    assert page.evaluate(OVERFLOW) <= 0
    axe(page)
    page.get_by_text("Show as a table").first.click()
    assert page.get_by_role("region", name="Skew over time").get_by_role("row").count() == 25
