"""The map of a capacity page has the answer of each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.web.nodemap.grouping import unpack_column

pytestmark = pytest.mark.django_db


def read_layer(page: Any, key: str) -> dict[str, int]:
    [side] = page.context["map"].sides
    return dict(zip(side.inline["names"], unpack_column(side.inline["frames"][key]).tolist(), strict=True))


def test_room_for_more_has_the_number_of_each_node(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = client_as("viewer").get("/capacity/?cluster=demo&cpu=500m&memory=1Gi")
    answer = page.context["answer"]
    counts = Counter(answer.names[node] for node in answer.order.tolist())
    assert counts
    assert {name: number for name, number in read_layer(page, "more").items() if number} == counts


def test_a_drain_shows_what_is_emptied_and_where_its_pods_go(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = client_as("viewer").get("/capacity/drain/?cluster=demo&nodes=general-a-1 spot-a-1")
    verdicts, arriving = read_layer(page, "drain"), read_layer(page, "arriving")
    targets = Counter(move.target for move in page.context["answer"].moves)
    assert {name for name, code in verdicts.items() if code == 0} == {"general-a-1", "spot-a-1"}
    assert {name for name, code in verdicts.items() if code == 1} == set(targets)
    assert {name: number for name, number in arriving.items() if number} == targets


def test_the_loss_of_a_zone_is_on_each_of_its_nodes(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = client_as("viewer").get("/capacity/buffer/?cluster=demo&zones=on")
    stranded = read_layer(page, "stranded")
    assert page.context["answer"].losses
    for loss in page.context["answer"].losses:
        assert {stranded[name] for name in loss.nodes} == {len(loss.stranded)}


def test_a_page_without_a_question_shows_what_nodes_have(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = client_as("viewer").get("/capacity/nodes/?cluster=demo")
    assert page.context["map"].show.key == "cpu"
