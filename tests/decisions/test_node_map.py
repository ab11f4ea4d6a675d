"""The node map of a decision: a verdict and a score for each node, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kschedweb.web.nodemap.grouping import unpack_column

if TYPE_CHECKING:
    from django.test import Client

    from kschedweb.clusters.models import Snapshot

pytestmark = pytest.mark.django_db


def test_each_node_has_the_verdict_and_the_score_of_the_decision(
    client_as: Callable[[str], Client], demo: Snapshot
) -> None:
    page = client_as("viewer").get("/decision/demo/analytics/spark-driver/")
    [side], explanation = page.context["map"].sides, page.context["explanation"]
    shows = {show["name"]: show for show in side.inline["shows"]}
    words = shows["verdict"]["words"]
    verdicts = unpack_column(side.inline["frames"]["verdict"])
    scores = unpack_column(side.inline["frames"]["score"])
    assert words[:2] == ["chosen", "fits"]
    feasible = {
        explanation.nodes[place]: int(total)
        for place, total in zip(explanation.feasible, explanation.total, strict=False)
    }
    for name, verdict, score in zip(side.inline["names"], verdicts, scores, strict=True):
        place = explanation.nodes.index(name)
        if name in feasible:
            assert words[verdict] == ("chosen" if name == explanation.node else "fits")
            assert score == feasible[name]
        else:
            assert explanation.filters[explanation.rejected_by[place]].plugin in (
                "NodeUnschedulable",
                "TaintToleration",
            )
            assert words[verdict] in ("cordoned", "taint")
            assert score == 65535
    assert sorted(np.unique(verdicts)) == list(range(len(words)))


def test_a_pod_that_fits_nowhere_has_verdicts_and_no_scores(client_as: Callable[[str], Client], demo: Snapshot) -> None:
    page = client_as("viewer").get("/decision/demo/analytics/cube-builder/")
    [side] = page.context["map"].sides
    assert "score" not in side.inline["frames"]
    assert page.context["map"].tables[0]["summary"] == "60 nodes: 2 cordoned, 13 taint, 45 too full."
