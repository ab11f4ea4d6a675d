"""The devices on the decision page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import Snapshot
from tests.support.html import elements, text

ADDRESS = "/decision/lab/default/{}/"


@pytest.fixture
def get_page(with_devices: Callable[..., Snapshot], client_as: Callable[[str], Client]) -> Callable[..., Any]:
    """``get_page(node="", pod="trainer", **changes)``: the page, in a cluster made with ``changes``."""

    def get(node: str = "", pod: str = "trainer", **changes: Any) -> Any:
        with_devices(*changes.pop("objects", ()), **changes)
        return client_as("viewer").get(ADDRESS.format(pod), {"node": node} if node else {})

    return get


def states(response: Any) -> dict[str, str]:
    rows = elements(response, "#devices [data-device]")
    return {row.attributes["data-device"].rpartition("/")[2]: row.attributes["data-state"] for row in rows}


def test_the_page_shows_the_devices_of_the_chosen_node(get_page: Callable[..., Any]) -> None:
    response = get_page()
    assert response.context["devices"].node == "gpu-4"
    assert states(response) == {"gpu-0": "refused", "gpu-1": "free", "gpu-2": "chosen", "gpu-3": "chosen"}
    assert "The node has devices for all claims of the pod." in text(response)


def test_the_page_says_why_the_node_asked_for_has_none(get_page: Callable[..., Any]) -> None:
    response = get_page("gpu-1")
    assert states(response) == {"gpu-0": "refused", "gpu-1": "free", "gpu-2": "refused", "gpu-3": "free"}
    assert response.context["devices"].refusals == (
        "the available devices do not meet a constraint of claim default/trainer: "
        "all devices of gpus have the same example.com/socket",
    )
    assert get_page("gpu-2").context["devices"].refusals == (
        "request gpus of claim default/trainer asks for 2 devices of class gpu, of which 1 available",
    )


def test_a_pod_that_fits_nowhere_is_told_of_the_nearest_miss(get_page: Callable[..., Any]) -> None:
    response = get_page(claim=lambda devices: devices["requests"][0]["exactly"].update(count=4))
    assert response.context["devices"].node == response.context["miss"].node
    assert response.context["devices"].found is False


def test_an_expression_outside_the_simulation_is_named_with_it(get_page: Callable[..., Any]) -> None:
    expression = "duration('1s') > duration('0s')"
    outside = [{"cel": {"expression": expression}}]
    response = get_page("gpu-3", claim=lambda devices: devices["requests"][0]["exactly"].update(selectors=outside))
    assert response.context["devices"].unknown == f"whether a device meets the selector {expression}"
    (table,) = response.context["devices"].requests
    assert [selector.outside for selector in table.selectors] == [False, True]
    assert "outside the simulation" in text(response)


def test_a_pod_without_claims_has_no_such_part(get_page: Callable[..., Any]) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": "plain", "namespace": "default", "uid": "plain"}
    response = get_page("", "plain", objects=[{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}])
    assert response.context["devices"] is None
    assert not elements(response, "#devices")
