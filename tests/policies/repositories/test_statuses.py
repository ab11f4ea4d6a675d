"""Statuses of commits at the git server: told in its form, once, and again where they were not taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.accounts.roles import Role
from kschedweb.policies.repositories import services
from kschedweb.policies.repositories.models import Repository, StatusToken
from kschedweb.web.errors import ApplicationError
from tests.support.git_server import GOOD, Work, look
from tests.support.status_server import TOKEN, StatusServer, taking

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["github", "gitlab"])
def server(request: pytest.FixtureRequest) -> Iterator[StatusServer]:
    with taking(request.param) as status_server:
        yield status_server


def report_to(server: StatusServer, user: User, **settings: Any) -> Repository:
    repository = Repository.objects.get()
    values: dict[str, Any] = {"status_url": server.url, "status_token": TOKEN, "drafts": repository.drafts} | settings
    services.repository_save(
        user=user, name=repository.name, url=repository.url, folder=repository.folder, repository=repository, **values
    )
    return look()


def test_newest_commit_of_each_branch_has_a_status(
    followed_repository: Work, admin: User, server: StatusServer, settings: Settings
) -> None:
    first = followed_repository.git("rev-parse", "HEAD")
    assert report_to(server, admin, drafts="feature/*").status_problem == ""
    assert server.taken[first, "kschedweb/platform"]["description"] == "Policies that were read: 1, all valid."
    assert "target_url" not in server.taken[first, "kschedweb/platform"]
    settings.SITE_URL = "https://kschedweb.example.com"
    followed_repository.git("checkout", "--quiet", "-b", "feature/wide")
    wrong = followed_repository.commit("Break it", web=GOOD.format(500))
    # The file is wrong still, so this commit is, though it changes another one.
    later = followed_repository.commit("Say something", **{"../README": "words"})
    look()
    assert set(server.taken) == {(first, "kschedweb/platform"), (later, "kschedweb/platform")}
    assert server.state(later) in ("failure", "failed")
    address = server.taken[later, "kschedweb/platform"]["target_url"]
    assert address == "https://kschedweb.example.com/policies/repositories/platform/"
    description = server.taken[later, "kschedweb/platform"]["description"]
    assert description.startswith("policies/web.yaml, line 3: percentageOfNodesToScore: Invalid value: 500")
    mended_commit = followed_repository.commit("Mend it", web=GOOD.format(60))
    look()
    assert server.state(mended_commit) == "success"
    request_count = len(server.asked)
    look()
    assert (len(server.asked), wrong in str(server.asked)) == (request_count, False)


def test_what_was_not_taken_is_told_again(
    followed_repository: Work, admin: User, server: StatusServer, client_as: Callable[[Role], Client]
) -> None:
    assert report_to(server, admin, status_token="wrong-token").status_problem == "It answered 401."
    assert "It answered 401." in client_as(Role.VIEWER).get("/policies/repositories/platform/").content.decode()
    head = followed_repository.git("rev-parse", "HEAD")
    server.unknown.add(head)
    repository = report_to(server, admin)
    assert (repository.status_problem, repository.problem) == ("It answered 404.", "")
    server.unknown.clear()
    assert look().status_problem == ""
    assert server.state(head) == "success"


def test_server_that_does_not_answer_keeps_no_policy_back(followed_repository: Work, admin: User) -> None:
    with taking("github") as server:
        report_to(server, admin, drafts="*")
    followed_repository.git("checkout", "--quiet", "-b", "wide")
    followed_repository.commit("Look at more", web=GOOD.format(60))
    repository = look()
    assert (repository.status_problem, repository.problem) == ("It cannot be reached.", "")
    assert repository.files.filter(branch="wide", policy__isnull=False).exists()


def test_token_opens_one_address_and_is_never_shown(
    followed_repository: Work,
    server: StatusServer,
    api_as: Callable[[Role], APIClient],
    client_as: Callable[[Role], Client],
) -> None:
    repository, address = Repository.objects.get(), "/api/v1/repositories/platform/"
    body = {"name": repository.name, "url": repository.url, "folder": repository.folder, "status_url": server.url}
    response = api_as(Role.ADMIN).put(address, body | {"status_token": TOKEN})
    assert (response.status_code, response.json()["status_url"], "status_token" in response.json()) == (
        200,
        server.url,
        False,
    )
    assert TOKEN not in client_as(Role.ADMIN).get("/policies/repositories/platform/").content.decode()
    assert TOKEN not in str(list(AuditEntry.objects.values_list("details", flat=True)))
    assert TOKEN.encode() not in bytes(StatusToken.objects.get().ciphertext)
    api_as(Role.ADMIN).put(address, body)
    assert look().status_problem == ""
    api_as(Role.ADMIN).put(address, body | {"status_url": server.url + "3"})
    assert not StatusToken.objects.exists()  # it was given for the other address


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("status_url", "https://192.0.2.9/repos/platform/policies", "192.0.2.9 is not among"),
        ("status_url", "http://169.254.169.254/repos/platform/policies", "169.254.169.254"),
        ("status_url", "http://127.0.0.1/platform/policies", "Name the repository in its server's API"),
        ("status_url", "http://127.0.0.1/repos/platform/policies?x=/repos/a/b", "no ? or # part"),
        ("status_url", "http://git:secret@127.0.0.1/repos/platform/policies", "must not carry a user name"),
        ("status_token", "two words", "one word of printable ASCII"),
        ("status_token", "line\nbreak", "one word of printable ASCII"),
    ],
)
def test_no_other_address_is_told(followed_repository: Work, admin: User, field: str, value: str, message: str) -> None:
    repository = Repository.objects.get()
    fields: dict[str, Any] = {field: value}
    with pytest.raises(ApplicationError) as caught:
        services.repository_save(user=admin, name="platform", url=repository.url, repository=repository, **fields)
    assert message in caught.value.detail
    assert [error["path"] for error in caught.value.errors] == [field]


def test_address_that_is_allowed_no_more_is_not_asked(
    followed_repository: Work, admin: User, server: StatusServer, settings: Settings
) -> None:
    report_to(server, admin)
    followed_repository.commit("Look at more", web=GOOD.format(60))
    before = len(server.asked)
    Repository.objects.update(url=str(followed_repository.folder))  # a folder needs no address
    settings.REPOSITORY_ALLOWLIST = ["192.0.2.0/24"]
    repository = look()
    assert (repository.problem, len(server.asked)) == ("", before)
    assert "KSCHEDWEB_REPOSITORY_ALLOWLIST" in repository.status_problem
