"""Two profiles of a revision over REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kschedweb.policies import services
from tests.policies.profile_comparison.test_selectors import TWO

if TYPE_CHECKING:
    from collections.abc import Callable

    from rest_framework.test import APIClient

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db
PATH = "/api/v1/policies/two/revisions/1/profiles/"


@pytest.fixture
def api(api_as: Callable[[str], APIClient], editor: User) -> APIClient:
    services.policy_create(name="two", document=TWO, author=editor)
    return api_as("viewer")


def test_the_first_two_profiles_are_compared(api: APIClient) -> None:
    body = api.get(PATH).json()
    assert (body["first"], body["second"]) == ("default-scheduler", "batch")
    assert {"where": "score", "what": "ImageLocality", "before": "on", "after": "off"} in body["changes"]
    assert body["lines"][0] == {"where": "percentageOfNodesToScore", "first": "", "second": "30", "is_same": False}


def test_profiles_are_chosen_by_name(api: APIClient) -> None:
    body = api.get(f"{PATH}?first=batch&second=default-scheduler").json()
    assert {"where": "score", "what": "ImageLocality", "before": "off", "after": "on"} in body["changes"]
    assert api.get(f"{PATH}?first=batch&second=batch").json()["changes"] == []


def test_a_profile_that_is_not_there_is_told_with_those_that_are(api: APIClient) -> None:
    answer = api.get(f"{PATH}?second=nobody")
    assert answer.status_code == 404
    assert answer.json()["errors"] == [
        {"path": "second", "message": "There is no profile named nobody. Choose one of default-scheduler, batch."}
    ]


def test_a_classic_policy_has_no_profiles(api: APIClient, editor: User) -> None:
    services.policy_create(name="old", document="kind: Policy\napiVersion: v1\n", author=editor)
    assert api.get("/api/v1/policies/old/revisions/1/profiles/").status_code == 422
