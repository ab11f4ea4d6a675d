"""The page of releases: every difference, worked; and the ways to an upgrade's question."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from kschedweb.engine.releases.changes import CHANGES, changes_between
from kschedweb.policies.models import Revision
from tests.support.html import elements

pytestmark = pytest.mark.django_db


def test_it_shows_every_difference_with_both_answers(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.34&second=1.38")
    assert response.status_code == 200
    changes = response.context["changes"]
    assert [change["change"] for change in changes] == list(CHANGES)
    assert all(len(change["answers"]) == (2 if change["change"].scenario else 0) for change in changes)
    assert "StorageCapacityScoring" in {gate["name"] for gate in response.context["gates"]}


def test_each_score_and_each_verdict_has_a_line_of_its_own(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.34&second=1.37")
    answers = [answer for change in response.context["changes"] for answer in change["answers"]]
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
    assert [change["change"] for change in response.context["changes"]] == list(changes_between("1.35", "1.37"))


def test_a_release_that_there_is_not_is_an_error_at_its_field(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.99")
    assert response.status_code == 400
    assert "first" in response.context["form"].errors


def test_a_release_and_itself_differ_in_nothing(client_as: Callable[[str], Client]) -> None:
    response = client_as("viewer").get("/releases/?first=1.36&second=1.36")
    assert (response.context["changes"], response.context["gates"]) == ([], [])


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
    assert "The policy names no release of kube-scheduler, so an upgrade is tried from 1.35" in text
