"""A recorded cluster of 1,523 nodes and 8,152 pods, uploaded as a scenario and compared under two policies in Chromium.

The site is one that `make run` started: its two runs share one process with the pages. Measured from pressing Run to
what differs; then the first placements of both runs are the real scheduler's.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kschedweb.engine.simulation import PodArrives
from tests.conformance.test_whatif_live import PACKING, openb
from tests.data import DATA
from tests.support.browser import window
from tests.support.site import PASSWORD, Site, made_run
from tests.support.tour import Visitor

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.nightly

NODES, PODS, COMPARED = 1523, 8152, 1000
LIMIT, PATIENCE = 60_000.0, 300_000  # milliseconds
FILES = {"nodes.csv": "openb_node_list_all_node.csv.gz", "pods.csv": "openb_pod_list_default.csv.gz"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with made_run(tmp_path_factory.mktemp("openb"), KSCHEDWEB_ADMIN_PASSWORD=PASSWORD) as run:
        run.site.login("admin", PASSWORD)
        yield run.site


@pytest.fixture
def visitor(browser: Browser, site: Site) -> Iterator[Visitor]:
    with window(browser, site) as page:
        yield Visitor(page, patience=PATIENCE)


def test_a_recorded_cluster_is_compared_in_chromium_and_placed_as_the_real_scheduler_does(
    site: Site, visitor: Visitor, oracle: Callable[[str, str], Any], report: Callable[..., None]
) -> None:
    make_policy(site)
    make_scenario(visitor)
    seconds = compare(visitor)
    report(f"Run pressed: {NODES:,} nodes, {PODS:,} pods, two policies", [seconds * 1000], LIMIT, "in Chromium")
    page = visitor.page
    comparison = site.ask("GET", f"comparisons/{page.url.rstrip('/').rpartition('/')[2]}/")
    runs = {run["policy"]: run for run in comparison["runs"]}
    assert list(runs) == ["default@1", "packing@1"]
    assert f"of {PODS:,} pods" in page.locator("h1").inner_text()

    objects = openb()
    pending = [event.pod for event in objects.events if isinstance(event, PodArrives)][:COMPARED]
    for label, run in runs.items():
        config = {**document(site, label), "parallelism": 1}
        scenario = {"name": label, "config": config, "objects": objects.objects, "pending": pending}
        (answer,) = oracle("schedule", json.dumps(scenario))
        theirs = [(placement["pod"], placement["node"]) for placement in answer["placements"] if placement.get("node")]
        assert len(theirs) > COMPARED * 0.9
        assert bound(site, run["id"])[: len(theirs)] == theirs, label


def make_policy(site: Site) -> None:
    """`packing`: nodes with most allocated first, with the GPU weighed."""
    site.ask("POST", "policies/", {"name": "packing", "document": json.dumps(PACKING)})


def make_scenario(visitor: Visitor) -> None:
    """The nodes and pods of the recording, uploaded; the pods come in their order, and stay."""
    page = visitor.page
    page.goto("/scenarios/new/")
    visitor.do("Type `openb` into **Name**, choose `An empty cluster` for **Start from**.")
    visitor.do("Press **Create scenario**, then press **Files**.")
    for name, file in FILES.items():
        page.locator("input[type=file]").set_input_files(DATA / file)
        visitor.do(f"Type `{name}` into **Name**, then press **Upload**: you see “{name} is kept”.")
    visitor.do("Press **Edit**.")
    visitor.do("Under **Changes**, choose `Add nodes` and press **Add**.")
    visitor.do("Under **1. Add nodes**, choose `nodes.csv` for **file**.")
    visitor.do("Under **Arrivals**, choose `Replay a recording` and press **Add**.")
    visitor.do("Under **1. Replay a recording**, choose `pods.csv` for **file**, choose `false` for **leave**.")
    # 149 days in 13 seconds: their order is what counts, not that those which fit nowhere are tried again and again.
    visitor.do("Under **1. Replay a recording**, type `1000000` into **speed**.")
    visitor.do("Under **How long it runs**, type `1m` into **until**.")
    visitor.do("Press **Save as a revision**: you see “Saved as revision 2.”")


def compare(visitor: Visitor) -> float:
    """Seconds from pressing Run until what differs, and the pods that go elsewhere, are on the page."""
    visitor.page.goto("/comparisons/new/")
    visitor.do("Choose `openb` for **Scenario**, choose `default` for **Reference**, tick **packing, revision 1**.")
    begun = time.monotonic()
    visitor.do("Press **Run**: you see “What differs” and you see “Pods that go elsewhere under packing@1”.")
    visitor.do("Under **Pods that go elsewhere under packing@1**, you see “NodeResourcesFit”.")
    return time.monotonic() - begun


def document(site: Site, label: str) -> dict[str, Any]:
    """The configuration of a policy's revision, `name@number`."""
    name, _, number = label.partition("@")
    revision_document: dict[str, Any] = yaml.safe_load(
        site.ask("GET", f"policies/{name}/revisions/{number}/")["document"]
    )
    return revision_document


def bound(site: Site, run: str) -> list[tuple[str, str]]:
    """List each pod with its node, in the order in which they were bound."""
    answer = site.session.get(f"{site.url}/runs/{run}/?format=csv&of=moves", timeout=60)
    rows = csv.DictReader(answer.text.splitlines())
    return [(row["pod"], row["node"]) for row in rows if row["kind"] == "bound"]
