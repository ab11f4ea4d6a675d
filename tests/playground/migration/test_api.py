"""REST's answers: which pods would move, at once or later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Job
from kschedweb.playground.migration import selectors, services, tasks
from kschedweb.playground.migration.models import Question
from kschedweb.policies.models import Revision
from kschedweb.web.rest import snake_case

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/moves/"
BODY: dict[str, Any] = {
    "classic": {"name": "filling"},
    "profile": {"name": "default", "revision": 1},
    "snapshot": {"cluster": "small"},
    "bound": True,
}
Api = Callable[..., Any]


def body_without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in BODY.items() if name not in names}


def test_an_answer_has_an_address_and_a_list_of_pods(api_as: Api, small: Snapshot, filling: Revision) -> None:
    response = api_as("editor").post(ADDRESS, BODY)
    assert response.status_code == 201
    answer, viewer = response.json(), api_as("viewer")
    assert answer["answer"].startswith("Of 9 pods ")
    assert (answer["classic"], answer["profile"], answer["state"]) == ("filling@1", "default@1", "succeeded")
    assert response["Location"].endswith(f"{ADDRESS}{answer['id']}/")
    assert viewer.get(response["Location"]).json() == answer
    assert [row["id"] for row in viewer.get(f"{ADDRESS}?search=filling").json()["results"]] == [answer["id"]]
    pods = viewer.get(f"{response['Location']}pods/").json()["results"]
    assert pods == [snake_case(raw) for raw in selectors.differing_pods(Question.objects.get())]
    assert sum(rule["pods"] for rule in answer["counts"]["rules"]) == len(pods)


def test_pods_are_kept_and_sorted(api_as: Api, small: Snapshot, filling: Revision) -> None:
    api = api_as("editor")
    address = f"{api.post(ADDRESS, BODY)['Location']}pods/"
    only_classic = api.get(f"{address}?verdict=only%20classic").json()["results"]
    assert [pod["pod"] for pod in only_classic] == ["batch/large"]
    names = [row["pod"] for row in api.get(f"{address}?ordering=-pod").json()["results"]]
    assert names == sorted(names, reverse=True)
    wrong = api.get(f"{address}?ordering=age")
    assert (wrong.status_code, wrong.json()["errors"][0]["path"]) == (400, "ordering")


def test_without_a_profile_the_conversion_is_meant(api_as: Api, small: Snapshot, filling: Revision) -> None:
    answer = api_as("editor").post(ADDRESS, body_without("profile")).json()
    assert (answer["converted"], answer["profile"]) == (True, "its conversion")


def test_what_takes_longer_is_answered_by_a_job(
    api_as: Api, small: Snapshot, filling: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    api = api_as("editor")
    waits = api.post(ADDRESS, BODY)
    assert (waits.status_code, waits["Retry-After"]) == (202, "2")
    assert (waits.json()["counts"], waits.json()["answer"]) == (None, "")
    assert api.get(f"{waits['Location']}pods/").json()["results"] == []
    tasks.answer(str(Job.objects.get().pk))
    assert api.get(waits["Location"]).json()["answer"].startswith("Of 9 pods ")


def test_a_command_given_twice_is_done_once(api_as: Api, small: Snapshot, filling: Revision) -> None:
    api, key = api_as("editor"), {"Idempotency-Key": "once"}
    first, second = (api.post(ADDRESS, BODY, headers=key) for _ in range(2))
    assert first.json()["id"] == second.json()["id"]
    assert Question.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "status", "path"),
    [
        ({"classic": {"name": "default"}}, 422, "classic"),
        ({"profile": {"name": "filling"}}, 422, "profile"),
        ({"classic": {"name": "none"}}, 404, "classic.name"),
        ({"snapshot": {"cluster": "none"}}, 404, "snapshot.cluster"),
        ({"snapshot": {"cluster": "small", "id": "00000000-0000-0000-0000-000000000007"}}, 404, "snapshot.id"),
        ({"bound": "some"}, 400, "bound"),
        ({"sequence": True}, 422, "sequence"),
        ({"namespaces": ["nowhere"]}, 422, "namespaces"),
        ({"classic": {}}, 400, "classic.name"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(
    api_as: Api, small: Snapshot, filling: Revision, changes: dict[str, Any], status: int, path: str
) -> None:
    answer = api_as("editor").post(ADDRESS, BODY | changes)
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (status, [path])
    assert not Question.objects.exists()


def test_viewers_ask_nothing(api_as: Api, small: Snapshot, filling: Revision) -> None:
    assert api_as("viewer").post(ADDRESS, BODY).status_code == 403
