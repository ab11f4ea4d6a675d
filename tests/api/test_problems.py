"""Every error of the REST API is problem details, whatever went wrong and wherever."""

from __future__ import annotations

import json
import re

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework.exceptions import ErrorDetail

from kschedweb.accounts.models import Token, User
from kschedweb.web.errors import PreconditionFailed
from kschedweb.web.rest import field_problems
from tests.support import tiers

pytestmark = pytest.mark.django_db

TOKENS = "/api/v1/tokens/"


def check(answer, status: int) -> dict:
    """The problem document of ``answer``, after the rules that hold for all of them."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    problem = json.loads(answer.content)
    assert set(problem) == {"type", "title", "status", "detail", "instance", "request_id", "errors"}
    assert problem["status"] == status
    assert problem["detail"]
    assert re.fullmatch(r"[0-9a-f-]{36}", problem["request_id"])
    assert problem["request_id"] == answer["X-Request-ID"]
    return problem


@pytest.fixture
def client(client_as) -> Client:
    client = client_as("admin")
    client.raise_request_exception = False
    return client


def post(client: Client, body: bytes | str, content_type: str = "application/json"):
    return client.generic("POST", TOKENS, body, content_type=content_type)


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing/", "/api/v2/jobs/", "/api/v1/jobs/not-a-uuid/"])
def test_an_address_that_does_not_exist_is_404(client, path):
    assert check(client.get(path), 404)["instance"] == path


def test_a_thing_that_does_not_exist_is_404_and_says_what(client):
    assert "no such token" in check(client.get(f"{TOKENS}123456/"), 404)["detail"]


def test_nobody_is_401_and_told_how(db):
    answer = Client().get(TOKENS)
    check(answer, 401)
    assert answer["WWW-Authenticate"] == 'Bearer realm="kschedweb"'


def test_the_wrong_role_is_403_and_told_why(client_as):
    assert "role" in check(client_as("viewer").get("/api/v1/users/"), 403)["detail"]


def test_another_method_is_405_and_told_which(client):
    answer = client.put(TOKENS)
    check(answer, 405)
    assert set(answer["Allow"].replace(" ", "").split(",")) >= {"GET", "POST"}


def test_another_format_is_406_and_415(client):
    check(client.get(TOKENS, headers={"Accept": "application/xml"}), 406)
    check(post(client, "<a/>", "application/xml"), 415)


MALFORMED_BODIES = {
    "cut off": '{"name": "x"',
    "no JSON": "name=x",
    "nothing": "",
    "binary": b"\xff\xfe\x00",
    "not a number": '{"days": NaN}',
    "infinite": '{"days": -Infinity}',
    "five thousand digits": '{"days": ' + "9" * 5000 + "}",
    "deep": "[" * 100_000,
    "deep and closed": "[" * 900 + "]" * 900,
    "half a surrogate": r'{"name": "\ud800", "scope": "view", "days": 1}',
}


@pytest.mark.parametrize("name", MALFORMED_BODIES)
def test_a_malformed_body_is_400_and_changes_nothing(client, name):
    check(post(client, MALFORMED_BODIES[name]), 400)
    assert not Token.objects.exists()


def test_a_body_beyond_the_limit_is_413(client, settings):
    settings.UPLOAD_LIMIT = 1000
    check(post(client, '{"name": "' + "x" * 1000 + '"}'), 413)
    assert not Token.objects.exists()


@pytest.mark.parametrize("body", ["[]", "null", "3", '"x"', "true"])
def test_a_body_of_another_shape_is_400(client, body):
    check(post(client, body), 400)


def test_wrong_fields_are_named_all_at_once(client):
    problem = check(post(client, '{"name": "", "scope": "everything"}'), 400)
    assert {error["path"] for error in problem["errors"]} == {"name", "scope", "days"}


def test_what_a_service_refuses_names_its_field(client_as):
    answer = post(client_as("viewer"), '{"name": "x", "scope": "administer", "days": 3}')
    assert check(answer, 400)["errors"] == [{"path": "scope", "message": "Your role does not allow this scope."}]


def test_a_lost_update_is_412(client, monkeypatch):
    def refuse(self):
        raise PreconditionFailed("Revision 3 was saved meanwhile.", errors=[{"path": "expected", "message": "is 3"}])

    monkeypatch.setattr("kschedweb.accounts.api.AuditList.get_queryset", refuse)
    problem = check(client.get("/api/v1/audit/"), 412)
    assert problem["errors"] == [{"path": "expected", "message": "is 3"}]


def test_an_unforeseen_failure_is_500_with_the_id_under_which_the_log_has_it(client, monkeypatch, caplog):
    def fail(self):
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr("kschedweb.accounts.api.AuditList.get_queryset", fail)
    answer = client.get("/api/v1/audit/")
    problem = check(answer, 500)
    assert "hunter2" not in answer.content.decode()
    assert "Traceback" not in answer.content.decode()
    assert any(problem["request_id"] in str(record.msg) for record in caplog.records)


def test_too_many_requests_are_429_and_told_when_to_come_back(client, monkeypatch):
    monkeypatch.setattr("kschedweb.accounts.authentication.CallerThrottle.rate", "3/min", raising=False)
    answers = [client.get(TOKENS) for _ in range(4)]
    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    check(answers[3], 429)
    assert 1 <= int(answers[3]["Retry-After"]) <= 61


def test_a_request_id_of_the_caller_is_not_taken_over(client):
    answer = client.get(TOKENS, headers={"X-Request-ID": "evil\nid"})
    assert re.fullmatch(r"[0-9a-f-]{36}", answer["X-Request-ID"])


@pytest.mark.parametrize("value", ["0", "-1", "abc", "9" * 30, "501", "٣", "1.5"])
def test_an_odd_page_size_is_400_and_named(client, value):
    assert check(client.get(TOKENS, {"limit": value}), 400)["errors"] == [
        {"path": "limit", "message": "A page holds 1 to 500 results."}
    ]


def test_pages_stay_put_while_rows_come_in(client, admin):
    from kschedweb.accounts import services

    for number in range(5):
        services.token_create(user=admin, name=str(number), scope="view", days=1)
    first = client.get(TOKENS, {"limit": 2}).json()
    services.token_create(user=admin, name="late", scope="view", days=1)
    second = client.get(first["next"]).json()
    third = client.get(second["next"]).json()
    names = [token["name"] for page in (first, second, third) for token in page["results"]]
    assert names == ["4", "3", "2", "1", "0"]
    assert third["next"] is None
    assert client.get(second["previous"]).json()["results"] == first["results"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(body=JSON | st.dictionaries(st.sampled_from(["name", "scope", "days", "username", "role"]), JSON))
@settings(
    max_examples=tiers.count(40, 2000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_body_whatever_makes_the_server_fail(client, body):
    text = json.dumps(body)
    for path in (TOKENS, "/api/v1/users/"):
        answer = client.generic("POST", path, text, content_type="application/json")
        if answer.status_code != 201:
            check(answer, answer.status_code)
            assert answer.status_code < 500


@given(
    detail=st.recursive(
        st.text().map(ErrorDetail), lambda e: st.lists(e, max_size=3) | st.dictionaries(st.text(), e, max_size=3)
    )
)
def test_every_message_of_a_nested_error_is_kept(detail):
    def messages(value):
        if isinstance(value, dict):
            return [text for item in value.values() for text in messages(item)]
        if isinstance(value, list):
            return [text for item in value for text in messages(item)]
        return [str(value)]

    assert [problem["message"] for problem in field_problems(detail)] == messages(detail)


def test_paths_of_nested_errors_read_like_the_input():
    detail = {"spec": {"nodes": [{}, {"name": ["is missing"]}]}, "non_field_errors": ["contradicts itself"]}
    assert list(field_problems(detail)) == [
        {"path": "spec.nodes[1].name", "message": "is missing"},
        {"path": "", "message": "contradicts itself"},
    ]


class TestPages:
    """The same for people."""

    @pytest.fixture
    def person(self, client_as) -> Client:
        client = client_as("viewer")
        client.raise_request_exception = False
        return client

    def test_a_page_that_does_not_exist(self, person):
        answer = person.get("/nothing/")
        assert answer.status_code == 404
        assert "There is nothing at this address" in answer.content.decode()
        assert answer["X-Request-ID"] in answer.content.decode()

    def test_a_page_for_another_role(self, person):
        answer = person.get(reverse("people"))
        assert answer.status_code == 403
        assert "Your role does not allow you to" in answer.content.decode()

    def test_a_page_that_fails(self, person, monkeypatch):
        def fail():
            raise RuntimeError("password=hunter2")

        monkeypatch.setattr("kschedweb.jobs.selectors.unfinished_count", fail)
        answer = person.get(reverse("jobs"))
        assert answer.status_code == 500
        assert answer["X-Request-ID"] in answer.content.decode()
        assert "hunter2" not in answer.content.decode()

    def test_a_page_that_fails_even_to_show_its_error(self, person, monkeypatch):
        def fail(*args, **kwargs):
            raise RuntimeError("the database is gone")

        monkeypatch.setattr("kschedweb.jobs.selectors.unfinished_count", fail)
        monkeypatch.setattr("kschedweb.web.problems.render_to_string", fail)
        answer = person.get(reverse("jobs"))
        assert answer.status_code == 500
        assert answer["Content-Type"].startswith("text/plain")
        assert answer["X-Request-ID"] in answer.content.decode()

    def test_nobody_at_a_page_that_does_not_exist(self, db):
        assert Client().get("/nothing/").status_code == 404

    def test_an_upload_beyond_the_limit(self, client_as, settings):
        settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
        answer = client_as("viewer").post(reverse("tokens"), {"name": "x" * 2000, "scope": "view", "days": 1})
        assert answer.status_code == 413
        assert User.objects.count() == 1
        assert django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE == 1000
