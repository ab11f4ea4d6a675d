from __future__ import annotations

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import Requirement, Selector
from kschedweb.engine.rebalancing.pods import LabelGroups, read_pod_view
from tests.engine.rebalancing.building import pod

IN_A, WEB = Requirement("zone", "In", ("a",)), Requirement("app", "In", ("web",))


def labelled(number: int) -> Json:
    raw = pod(f"pod-{number}", "n1")
    raw["metadata"]["labels"] = {"app": ("web", "db", "cache")[number % 3]} | (
        {"zone": "ab"[number % 2]} if number % 5 else {}
    )
    raw["metadata"]["namespace"] = ("default", "other")[number % 4 == 0]
    return raw


@pytest.mark.parametrize(
    "selector",
    [
        Selector(),
        Selector(nothing=True),
        Selector((WEB,)),
        Selector((WEB, IN_A)),
        Selector((Requirement("app", "In", ("gone",)),)),
        Selector((Requirement("app", "In", ("web", "db")),)),
        Selector((Requirement("zone", "DoesNotExist"), WEB)),
        Selector((Requirement("zone", "Exists"),)),
        Selector((Requirement("app", "In", ("web",)), Requirement("app", "NotIn", ("web",)))),
    ],
)
@pytest.mark.parametrize("namespaces", [None, {"default"}])
def test_a_selector_finds_in_order_what_it_matches_pod_by_pod(selector: Selector, namespaces: set[str] | None) -> None:
    pods = [read_pod_view(labelled(number), {}) for number in range(30)]
    expected = [
        candidate
        for candidate in pods
        if (namespaces is None or candidate.namespace in namespaces) and selector.matches(candidate.pod.labels)
    ]
    assert LabelGroups(pods).select_pods(selector, namespaces) == expected
