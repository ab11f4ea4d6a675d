"""A recorded cluster compared under two policies in Chromium: from pressing Run to what differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.browser.test_openb import NODES, PODS, compare, make_policy, make_scenario, site, visitor
from tests.support.site import Site
from tests.support.tour import Visitor

__all__ = ["site", "visitor"]  # fixtures
LIMIT = 60_000.0  # milliseconds


def test_a_recorded_cluster_is_compared_in_chromium(
    site: Site, visitor: Visitor, shared: Path, report: Callable[..., None]
) -> None:
    make_policy(site)
    make_scenario(visitor, shared)
    seconds = compare(visitor)
    report(f"Run pressed: {NODES:,} nodes, {PODS:,} pods, two policies", [seconds * 1000], LIMIT, "in Chromium")
