"""The page of releases: a list that opens, every difference worked; and the ways to an upgrade's question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from kschedweb.engine.releases.changes import CHANGES, changes_between
from kschedweb.policies.models import Revision
from tests.support.html import elements

pytestmark = pytest.mark.django_db


def list_changes(response: Any) -> list[dict[str, Any]]:
    """The changes of all releases on the page, as the view has them."""
    return [change for row in response.context["releases"] for change in row["changes"]]


def test_it_shows_every_difference_with_both_answers(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.34&second=1.38")
    assert response.status_code == 200
    changes = list_changes(response)
    assert [row["release"].name for row in response.context["releases"]] == ["1.38", "1.37", "1.36", "1.35"]
    assert sorted(change["change"].name for change in changes) == sorted(change.name for change in CHANGES)
    assert all(
        change["change"].since == row["release"].name
        for row in response.context["releases"]
        for change in row["changes"]
    )
    assert all(len(change["answers"]) == (2 if change["change"].scenario else 0) for change in changes)
    assert "StorageCapacityScoring" in {gate["name"] for gate in response.context["gates"]}


def test_each_release_is_closed_and_says_how_much_it_changes(client_as: Callable[[str], Client]) -> None:
    """Whoever links to a release links to what lies within, so that browsers open it without a script."""
    page = client_as("viewer").get("/releases/?first=1.36&second=1.38")
    assert not elements(page, "details[open]")
    summaries = [" ".join(element.text.split()) for element in elements(page, ".releases summary")]
    counts = [sum(change.since == release for change in CHANGES) for release in ("1.38", "1.37")]
    assert f"kube-scheduler 1.38 preview (1.38.0-beta.0) {counts[0]} differences from 1.37" in summaries
    assert f"kube-scheduler 1.37 released (1.37.2) {counts[1]} differences from 1.36" in summaries
    assert elements(page, "details [id=release-1.38]")
    others = {link["href"] for link in elements(page, "p a") if "#release-" in link["href"]}
    assert others == {"?first=1.35&second=1.36#release-1.36", "?first=1.34&second=1.35#release-1.35"}


def test_each_score_and_each_verdict_has_a_line_of_its_own(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.34&second=1.37")
    answers = [answer for change in list_changes(response) for answer in change["answers"]]
    for answer in answers:
        verdicts = [f"{node}: {reason}" for node, reason in answer["rejected"].items()]
        message = [answer["message"]] if answer["message"] else []
        assert answer["said"][: len(message + verdicts)] == message + verdicts
    assert any(len(answer["said"]) > 2 for answer in answers)
    assert "NodeResourcesBalancedAllocation: a 81, b 93" in {line for answer in answers for line in answer["scores"]}
    lines = {element.text for element in elements(response, "td div div")}
    assert {line for answer in answers for line in answer["said"] + answer["scores"]} <= lines


def test_without_a_choice_it_is_from_1_35_to_the_newest(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/")
    assert (response.context["first"], response.context["second"]) == ("1.35", "1.37")
    expected = {change.name for change in changes_between("1.35", "1.37")}
    assert {change["change"].name for change in list_changes(response)} == expected
    assert response.context["changes"] == len(expected)


def test_a_release_that_there_is_not_is_an_error_at_its_field(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.99")
    assert response.status_code == 400
    assert "first" in response.context["form"].errors


def test_a_release_and_itself_differ_in_nothing(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.36&second=1.36")
    assert (response.context["releases"], response.context["gates"]) == ([], [])


def test_a_policys_page_leads_to_its_upgrade(client_as: Callable[[str], Client]) -> None:
    Revision.objects.filter(policy__name="default").update(process={"release": "1.38"})
    newest = client_as("viewer").get("/policies/default/").content.decode()
    assert "Try an upgrade" not in newest
    Revision.objects.filter(policy__name="default").update(process={"release": "1.36"})
    response = client_as("viewer").get("/policies/default/")
    query = parse_qs(urlsplit(f"?{response.context['upgrade']}").query)
    assert query["policy"] == query["baseline"] == ["default@1"]
    assert (query["baseline_release"], query["release"]) == (["1.36"], ["1.37"])
    assert "an upgrade is tried from" not in response.content.decode()
    Revision.objects.filter(policy__name="default").update(process={"release": "1.37"})
    response = client_as("viewer").get("/policies/default/")
    assert parse_qs(urlsplit(f"?{response.context['upgrade']}").query)["release"] == ["1.38"]


def test_where_nothing_names_a_release_the_upgrade_is_from_1_35(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/policies/default/")
    query = parse_qs(urlsplit(f"?{response.context['upgrade']}").query)
    assert (query["baseline_release"], query["release"]) == (["1.35"], ["1.37"])
    text = " ".join(response.content.decode().split())
    assert "Scheduler version unknown. Set it, or try 1.35 → 1.37." in text
