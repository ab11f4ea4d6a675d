"""Each page that answers about a cluster opens with a picture of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from tests.support.html import elements

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.clusters.models import Snapshot

PICTURES = ("[data-nodemap]", ".chart[data-figure]", ".pod-blocks", "svg.blocks", ".drawn")
ADDRESSES = {
    "overview": "/?cluster=demo",
    "pods": "/pods/?cluster=demo&pending=true",
    "nodes": "/nodes/?cluster=demo",
    "node": "/nodes/gpu-a-1/?cluster=demo",
    "cluster": "/clusters/demo/",
    "decision": "/decision/demo/analytics/cube-builder/",
    "together": "/clusters/demo/together/",
    "groups": "/clusters/demo/podgroups/",
    "group": "/clusters/demo/podgroups/ml/training/",
    "complete group": "/clusters/demo/podgroups/analytics/nightly-join/",
}


@pytest.mark.django_db
def test_the_page_has_a_picture(client_as: Callable[[str], Client], demo: Snapshot) -> None:
    viewer = client_as("viewer")
    pages = {name: viewer.get(address) for name, address in ADDRESSES.items()}
    assert {name: page.status_code for name, page in pages.items()} == dict.fromkeys(pages, 200)
    assert [name for name, page in pages.items() if not any(elements(page, one) for one in PICTURES)] == []


@pytest.mark.django_db
def test_a_group_shows_its_pods_and_those_that_are_missing(client_as: Callable[[str], Client], demo: Snapshot) -> None:
    page = client_as("viewer").get(reverse("pod-groups", args=["demo"]))
    blocks: dict[str, list[str]] = {}
    for block in elements(page, "tbody tr .pod-block"):
        [row] = (ancestor for ancestor in block.ancestors if ancestor.tag == "tr")
        blocks.setdefault(row.text.split()[0], []).append(block["class"].split()[-1])
    assert blocks == {
        "nightly-join": ["stuck", "stuck", "missing"],
        "training": ["bound", "bound", "stuck"],
    }
