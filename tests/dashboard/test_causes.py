"""Plain causes of pending pods: each pod in one block, each cause with its one action."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kschedweb.clusters.selectors import PodRef
from kschedweb.dashboard import views
from kschedweb.dashboard.causes import CAUSE_KINDS, MOST_BLOCKS, find_kind, group_by_cause
from tests.support.html import elements

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.clusters.models import Snapshot


def pod(number: int) -> PodRef:
    return PodRef(number, f"shop/web-{number}", "default-scheduler", f"uid-{number}")


@pytest.mark.parametrize(
    ("reasons", "key"),
    [
        (("Insufficient cpu",), "cpu"),
        (("Insufficient memory", "Insufficient cpu"), "memory"),
        (("Insufficient nvidia.com/gpu", "Insufficient cpu"), "resource"),
        (("Too many pods",), "resource"),
        (("node(s) didn't match Pod's node affinity/selector",), "matching"),
        (("node(s) didn't match pod topology spread constraints",), "spread"),
        (("node(s) didn't satisfy existing pods anti-affinity rules",), "spread"),
        (("node(s) had untolerated taint(s)",), "taints"),
        (("waits for approval",), "people"),
        (("handled by volcano",), "elsewhere"),
        (("fits now",), "fits"),
        (("waiting for scheduling gates: [a]",), "gates"),
        (("pod has unbound immediate PersistentVolumeClaims",), "volumes"),
        (("something that nobody has heard of",), "other"),
        ((), "other"),
    ],
)
def test_the_schedulers_words_have_a_plain_cause(reasons: tuple[str, ...], key: str) -> None:
    assert find_kind(reasons).key == key


def test_each_pod_has_one_block_and_the_largest_cause_comes_first() -> None:
    waiting = [(pod(number), ("Insufficient cpu", "Insufficient memory")) for number in range(MOST_BLOCKS + 5)]
    causes = group_by_cause("shop", [(pod(1000), ("fits now",)), *waiting])
    assert [(cause.kind.key, len(cause.pods)) for cause in causes] == [("cpu", MOST_BLOCKS + 5), ("fits", 1)]
    assert (len(causes[0].blocks), causes[0].left_out) == (MOST_BLOCKS, 5)
    assert causes[0].address == "/capacity/nodes/?cluster=shop"
    assert causes[1].address == "/pods/?cluster=shop&reason=fits+now"


@pytest.mark.django_db
def test_every_action_leads_to_a_page(client_as: Callable[[str], Client], demo: Snapshot) -> None:
    viewer = client_as("viewer")
    waiting = [(pod(number), (kind.reasons[0],)) for number, kind in enumerate(CAUSE_KINDS)]
    causes = group_by_cause("demo", waiting)
    assert {cause.kind.key for cause in causes} == {kind.key for kind in CAUSE_KINDS}
    for cause in causes:
        assert viewer.get(cause.address).status_code == 200, cause.address


@pytest.mark.django_db
def test_the_overview_opens_with_the_map_and_the_causes(
    client_as: Callable[[str], Client], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "LIST_SECONDS", 60.0)  # a busy machine decides as many
    viewer = client_as("viewer")
    page = viewer.get("/?cluster=demo")
    blocks = elements(page, ".causes .pod-block")
    assert len(blocks) == page.context["explained_count"] == page.context["counts"]["waiting"]
    for block in (blocks[0], blocks[-1]):
        assert viewer.get(block["href"]).status_code == 200
    [figure] = elements(page, "[data-nodemap] figure")
    [document] = elements(page, f"script[id={figure['data-inline']}]")
    assert document["type"] == "application/json"
    assert page.context["map"].sides[0].inline["frames"].keys() >= {"cpu", "memory", "pods", "state"}
