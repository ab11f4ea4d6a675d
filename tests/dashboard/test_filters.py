"""Filters and orders that a list does not support: the page says so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache

from tests.support.html import elements


@pytest.mark.parametrize(
    ("address", "phrase"),
    [
        ("/nodes/?ready=banana", "The filter ready=banana was left out. Must be true or false."),
        ("/nodes/?raedy=true", "has no filter “raedy”, so it was left out. It has: search, zone, instance_type, ready"),
        ("/nodes/?ordering=banana", "The filter ordering=banana was left out."),
        ("/policies/?kind=banana", "The filter kind=banana was left out."),
        ("/fleet/?ordering=banana", "The filter ordering=banana was left out."),
        ("/nodes/?ready=true&zone=zone-a&show=cpu&page=2&view=1&cluster=demo", ""),
        ("/fleet/?show=memory&by=cluster&group=demo", ""),
    ],
)
def test_a_page_falls_back_and_says_what_it_left_out(client_as, demo, address: str, phrase: str) -> None:
    page = client_as("viewer").get(address)
    assert page.status_code == 200
    notices = [notice.text for notice in elements(page, "[data-ignored]")]
    assert [phrase in notice for notice in notices] == ([True] if phrase else [])


def test_a_namespace_that_is_not_there_stays_chosen(client_as, demo) -> None:
    page = client_as("viewer").get("/pods/?namespace=nowhere")
    assert {element["value"] for element in elements(page, "option[selected]")} >= {"nowhere"}


def test_many_namespaces_are_suggested_by_the_server(client_as, demo) -> None:
    cache.set(f"namespaces:{demo.pk}", [f"team-{number}" for number in range(10_000)])
    viewer = client_as("viewer")
    page = viewer.get("/pods/")
    assert len(elements(page, "option")) < 50
    assert len(elements(page, "input[name=namespace][list]")) == 2
    suggestions = viewer.get("/namespaces/?cluster=demo&namespace=team-999")
    assert [element["value"] for element in elements(suggestions, "option")] == [
        "team-999",
        *(f"team-999{n}" for n in range(10)),
    ]


def test_a_page_that_stays_open_learns_that_it_is_not_the_latest(client_as, demo) -> None:
    viewer = client_as("viewer")
    [line] = elements(viewer.get("/pods/?cluster=demo&search=web"), "p.resolved")
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/pods/?cluster=demo&search=web&revision=1"}
    assert viewer.get(line["hx-get"], headers=headers).content.decode().count("data-latest") == 2
    newer = type(demo).objects.get(pk=demo.pk)
    newer.pk, newer.taken_at = None, demo.taken_at + timedelta(minutes=1)
    newer._state.adding = True
    newer.save()
    page = viewer.get(line["hx-get"], headers=headers)
    assert [item.text for item in elements(page, "p.resolved [data-latest]")] == ["default@1"]
    assert elements(page, "p.resolved a")
    assert viewer.get("/reasons/?cluster=demo").headers["Location"] == "/?cluster=demo"
