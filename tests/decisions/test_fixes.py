"""Fixes that would let a pending pod run, on the decision page and over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils.translation import override
from rest_framework.test import APIClient

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions.fixes import present_fixes
from kschedweb.decisions.redaction import redact_fixes
from kschedweb.engine.json_types import Json
from tests.engine.builders import node, pod
from tests.support.html import elements

PAGE_PATH, REST_PATH = "/decision/demo/{}/", "/api/v1/clusters/demo/pods/{}/decision/"
GPU = "nvidia.com/gpu"


def test_rest_names_the_object_the_field_and_the_node(demo: Snapshot, api_as: Callable[[str], APIClient]) -> None:
    answer = api_as("viewer").get(REST_PATH.format("analytics/cube-builder")).json()
    (fix,) = answer["fixes"]
    assert fix["sentence"] == "Lower the CPU request of container main from 60 to 39.75: then it fits gpu-a-2."
    assert (fix["node"], fix["changes"][0]["kind"], fix["changes"][0]["after"]) == (
        "gpu-a-2",
        "lower_request",
        "39750m",
    )
    assert answer["device_chains"] == []


def test_a_pod_that_fits_or_runs_has_none(demo: Snapshot, api_as: Callable[[str], APIClient]) -> None:
    for key in ("shop/web-preview", "ml/notebook"):
        assert api_as("viewer").get(REST_PATH.format(key)).json()["fixes"] == []


def test_the_page_lists_them_in_the_readers_language(demo: Snapshot, client_as: Callable[[str], Client]) -> None:
    client = client_as("viewer")
    page = client.get(PAGE_PATH.format("batch/node-drill"))
    assert elements(page, "[data-fix] p")[0].text.partition(":")[0] == "Uncordon node general-a-7"
    assert "kubectl uncordon general-a-7" in [item.text for item in elements(page, "[data-fix] code")]
    with override("ja"):
        context: Any = present_fixes({"fixes": page.context["fixes"] and client_answer(client)})
    assert context["fixes"][0].sentence == "ノードgeneral-a-7をuncordonする：これでgeneral-a-7に置けます。"


def client_answer(client: Client) -> list[dict[str, Any]]:
    fixes: list[dict[str, Any]] = client.get(REST_PATH.format("batch/node-drill")).json()["fixes"]
    return fixes


def test_a_device_that_nobody_offers_shows_its_chain(
    store_snapshot: Callable[..., Snapshot], client_as: Callable[[str], Client]
) -> None:
    asks = pod("p", container={"resources": {"requests": {GPU: "1"}, "limits": {GPU: "1"}}})
    store_snapshot([node("a"), asks])
    page = client_as("viewer").get(PAGE_PATH.format("default/p"))
    rows = elements(page, "[data-chain] tbody th")
    assert [row.text for row in rows][:2] == ["Hardware", "Driver"]


@pytest.mark.django_db
def test_a_fix_of_a_namespace_that_the_user_may_not_view_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kschedweb.decisions.redaction.can_see_namespace", lambda _, name: name == "ours")
    keys = [{"namespace": name} for name in ("ours", "theirs", "")]
    fixes: list[Json] = [{"changes": [{"object": key}]} for key in keys]
    assert redact_fixes(uuid4(), fixes) == [fixes[0], fixes[2]]
