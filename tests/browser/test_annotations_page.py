"""The page of a cluster's annotations in Chromium: a finding, the setting that mends it, an error beside its field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from kschedweb.engine.state.watermarks import crane
from kschedweb.engine.state.watermarks.annotations import KEY
from kschedweb.watermarks.annotations.selectors import annotating_get
from tests.support.tiers import one_of
from tests.watermarks.conftest import node, store_cluster

PAGE = "/usage/annotations/?cluster=metered"


def annotated_nodes() -> list[dict[str, Any]]:
    """Nodes that an annotator in UTC wrote to a moment ago, and one that somebody wrote to by hand."""
    nodes = [node(f"node-{number}") for number in range(3)]
    for raw in nodes:
        texts = {
            metric: crane.write_usage(0.3, timezone.now().timestamp(), ZoneInfo("UTC")) for metric in crane.METRICS
        }
        raw["metadata"]["annotations"] = texts
    nodes[2]["metadata"]["annotations"][KEY] = "41 percent"
    return nodes


@pytest.mark.parametrize(("width", "dark"), one_of((1440, False), (390, True)))
def test_a_wrong_time_zone_is_seen_and_set_right(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None], width: int, dark: bool
) -> None:
    cluster = store_cluster(objects=annotated_nodes())
    page = page_as("admin", width=width, dark=dark)
    page.goto(PAGE)
    assert page.locator("h1").inner_text() == "2 findings about the annotations of metered"
    row = page.get_by_role("row", name="Written in UTC, it seems")
    row.locator("summary").click()
    assert row.get_by_text("node-1", exact=True).is_visible()
    axe(page)
    page.get_by_label("Time zone of crane's texts").select_option("UTC")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved. Nothing is written.").wait_for()
    assert page.locator("h1").inner_text() == "1 finding about the annotations of metered"
    assert page.get_by_role("row", name="Written in UTC").count() == 0
    assert annotating_get(cluster).time_zone == "UTC"
    axe(page)


@pytest.mark.nightly
def test_what_cannot_be_switched_on_is_said_beside_the_switch(
    live_server: Any, page_as: Callable[..., Any], axe: Callable[[Any], None]
) -> None:
    cluster = store_cluster()
    page = page_as("admin", javascript=False)
    page.goto(PAGE)
    page.get_by_label("kschedweb's own form, on nodes and workloads").check()
    page.get_by_role("button", name="Save").click()
    page.wait_for_load_state()
    assert page.locator("#id_own-error").is_visible()
    assert page.get_by_label("kschedweb's own form, on nodes and workloads").is_checked()
    assert not annotating_get(cluster).writes
