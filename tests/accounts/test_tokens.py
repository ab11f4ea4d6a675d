from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from kschedweb.accounts import services, tokens
from kschedweb.accounts.models import AuditEntry, Token, User
from kschedweb.accounts.roles import ALLOWED, Action, Role, role_allows, scope_allows
from kschedweb.web.errors import ApplicationError, Conflict
from kschedweb.web.heavy import person_of
from tests.support.html import elements

pytestmark = pytest.mark.django_db


def bearer(key: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


def test_a_key_opens_the_api_and_only_its_digest_is_kept(viewer):
    _, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    assert re.fullmatch(r"ksw_[A-Za-z0-9]{8}_[A-Za-z0-9]{32}", key)
    assert bearer(key).get("/api/v1/jobs/").status_code == 200
    stored_rows = str(list(Token.objects.values())) + str(list(AuditEntry.objects.values()))
    assert key not in stored_rows
    assert key.rsplit("_", 1)[1] not in stored_rows


def test_the_page_shows_a_key_once_and_forbids_keeping_it(client_as):
    client = client_as("viewer")
    page = client.post(reverse("tokens"), {"name": "CI", "scope": "view", "days": "7"})
    key = re.search(r"ksw_\w{8}_\w{32}", page.content.decode())
    assert key
    assert "no-store" in page["Cache-Control"]
    assert key[0] not in client.get(reverse("tokens")).content.decode()
    assert bearer(key[0]).get("/api/v1/jobs/").status_code == 200


@pytest.mark.parametrize(
    "spoil",
    [
        lambda key: key[:-1] + ("a" if key[-1] != "a" else "b"),
        lambda key: key.upper(),
        lambda key: key[:12],
        lambda key: "",
        lambda key: key + "a",
        lambda key: "ksw_" + "a" * 8 + "_" + "b" * 32,
    ],
    ids=["one letter", "case", "prefix only", "nothing", "longer", "unknown"],
)
def test_no_other_key_opens_it(viewer, spoil):
    _, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    answer = bearer(spoil(key)).get("/api/v1/jobs/")
    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/problem+json"
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert key not in answer.content.decode()


@pytest.mark.parametrize("event", ["expired", "revoked", "deactivated", "temporary password"])
def test_a_token_that_is_over_opens_nothing(viewer, admin, event):
    token, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    if event == "expired":
        Token.objects.update(expires_at=timezone.now())
    elif event == "revoked":
        services.token_revoke(actor=viewer, token=token)
    elif event == "deactivated":
        services.user_set_active(actor=admin, user=viewer, active=False)
    else:
        services.user_reset_password(actor=admin, user=viewer)
    assert bearer(key).get("/api/v1/jobs/").status_code == 401


@pytest.mark.parametrize("event", ["reset", "deactivation"])
def test_a_reset_and_a_deactivation_revoke_tokens_for_good(viewer, admin, event):
    _, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    if event == "reset":
        services.user_reset_password(actor=admin, user=viewer)
        viewer.refresh_from_db()
        services.password_change(user=viewer, password="Lovelace-1815")
    else:
        deactivated = services.user_set_active(actor=admin, user=viewer, active=False)
        services.user_set_active(actor=admin, user=deactivated, active=True)
    assert bearer(key).get("/api/v1/jobs/").status_code == 401
    entry = AuditEntry.objects.get(verb="token.revoked")
    assert (entry.actor_name, entry.object_name, entry.details["owner"]) == ("admin", "CI", "viewer")


def test_who_changes_their_own_password_keeps_their_tokens(viewer):
    _, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    services.password_change(user=viewer, password="Lovelace-1815")
    assert bearer(key).get("/api/v1/jobs/").status_code == 200


def test_a_session_that_a_reset_overtakes_makes_no_token(viewer, admin):
    services.user_reset_password(actor=admin, user=User.objects.get(pk=viewer.pk))
    with pytest.raises(Conflict):
        services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)


def test_an_administrator_sees_and_revokes_anybodys_tokens_on_a_page(client_as, viewer):
    token, key = services.token_create(user=viewer, name="CI of team blue", scope=Action.VIEW, days=30)
    address = reverse("person-tokens", args=["viewer"])
    client = client_as("admin")
    assert f'href="{address}"' in client.get(reverse("people")).content.decode()
    assert [element.text for element in elements(client.get(address), "tbody th")] == ["CI of team blue"]
    revoke = reverse("person-token-revoke", args=["viewer", token.pk])
    for role in ("viewer", "editor", "approver"):
        assert client_as(role).get(address).status_code == 403
        assert client_as(role).post(revoke).status_code == 403
    assert client.get(revoke).status_code == 405
    assert client.post(revoke)["Location"] == address
    assert bearer(key).get("/api/v1/jobs/").status_code == 401
    assert AuditEntry.objects.get(verb="token.revoked").actor_name == "admin"
    assert client.post(reverse("person-token-revoke", args=["admin", token.pk])).status_code == 404


def test_an_administrator_sees_and_revokes_anybodys_tokens_over_rest(api_as, viewer, admin):
    token, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    address = "/api/v1/users/viewer/tokens/"
    (token_row,) = api_as("admin").get(address).json()["results"]
    assert (token_row["name"], token_row["state"]) == ("CI", "active")
    assert api_as("viewer").get(address).status_code == 403
    assert api_as("viewer").delete(f"{address}{token.pk}/").status_code == 403
    _, narrow = services.token_create(user=admin, name="edit", scope=Action.EDIT, days=1)
    assert bearer(narrow).delete(f"{address}{token.pk}/").status_code == 403
    assert api_as("admin").delete(f"{address}{token.pk}/").status_code == 204
    assert bearer(key).get("/api/v1/jobs/").status_code == 401
    assert api_as("admin").get(f"{address}{token.pk}/").json()["state"] == "revoked"
    assert api_as("admin").get("/api/v1/users/nobody/tokens/").status_code == 404


def test_a_scope_narrows_the_role_and_never_widens_it(admin, editor):
    _, narrow = services.token_create(user=admin, name="read", scope=Action.VIEW, days=1)
    assert bearer(narrow).get("/api/v1/jobs/").status_code == 200
    rejection = bearer(narrow).get("/api/v1/users/")
    assert rejection.status_code == 403
    assert "scope of this token" in rejection.json()["detail"]
    with pytest.raises(ApplicationError) as wide:
        services.token_create(user=editor, name="all", scope=Action.ADMINISTER, days=1)
    assert wide.value.errors[0]["path"] == "scope"
    # Who loses a role loses it for the tokens made before.
    _, key = services.token_create(user=editor, name="edit", scope=Action.EDIT, days=1)
    services.user_change_role(actor=admin, user=editor, role=Role.VIEWER)
    import uuid

    assert bearer(key).post(f"/api/v1/jobs/{uuid.uuid4()}/cancel/").status_code == 403


@given(role=st.sampled_from(Role.values), scope=st.sampled_from(Action.values), action=st.sampled_from(Action.values))
def test_role_and_scope_together_allow_no_more_than_each(role, scope, action):
    together = role_allows(role, action) and scope_allows(scope, action)
    assert together <= (action in ALLOWED[role])
    assert scope_allows(scope, Action.VIEW)
    assert scope_allows(scope, scope)


@pytest.mark.parametrize("days", [0, -1, 366])
def test_a_token_lives_for_a_year_at_most(client_as, viewer, days):
    with pytest.raises(ApplicationError):
        services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=days)
    page = client_as("viewer").post(reverse("tokens"), {"name": "CI", "scope": "view", "days": str(days)})
    assert "days" in page.context["form"].errors
    assert not Token.objects.exists()


def test_nobody_sees_or_revokes_the_tokens_of_another(client_as, api_as, viewer):
    token, _ = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=1)
    assert client_as("admin").post(reverse("token-revoke", args=[token.pk])).status_code == 404
    assert api_as("admin").get(f"/api/v1/tokens/{token.pk}/").status_code == 404
    assert api_as("admin").delete(f"/api/v1/tokens/{token.pk}/").status_code == 404
    assert api_as("admin").get("/api/v1/tokens/").json()["results"] == []
    token.refresh_from_db()
    assert token.revoked_at is None


def test_a_narrow_token_makes_and_ends_no_tokens(admin):
    token, key = services.token_create(user=admin, name="read", scope=Action.EDIT, days=1)
    body = {"name": "more", "scope": "administer", "days": 365}
    assert bearer(key).post("/api/v1/tokens/", body, format="json").status_code == 403
    assert bearer(key).delete(f"/api/v1/tokens/{token.pk}/").status_code == 403
    _, wide = services.token_create(user=admin, name="all", scope=Action.ADMINISTER, days=1)
    response = bearer(wide).post("/api/v1/tokens/", body, format="json")
    assert response.status_code == 201
    assert bearer(response.json()["key"]).get("/api/v1/users/").status_code == 200


def test_the_last_use_is_written_at_most_once_a_minute(viewer, django_assert_num_queries):
    token, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    bearer(key).get("/api/v1/jobs/")
    token.refresh_from_db()
    first = token.last_used_at
    assert first
    bearer(key).get("/api/v1/jobs/")
    token.refresh_from_db()
    assert token.last_used_at == first
    Token.objects.update(last_used_at=first - timedelta(minutes=2))
    bearer(key).get("/api/v1/jobs/")
    token.refresh_from_db()
    assert token.last_used_at > first


def test_guessing_keys_is_slowed_by_address(db):
    client = bearer("ksw_" + "a" * 8 + "_" + "b" * 32)
    statuses = [client.get("/api/v1/jobs/").status_code for _ in range(62)]
    assert statuses[:60] == [401] * 60
    assert statuses[60:] == [429] * 2
    assert int(client.get("/api/v1/jobs/")["Retry-After"]) > 0


def test_a_token_is_not_a_session_and_needs_no_csrf_token_while_a_session_does(viewer, client_as):
    _, key = services.token_create(user=viewer, name="CI", scope=Action.VIEW, days=30)
    assert Client().get(reverse("tokens"), HTTP_AUTHORIZATION=f"Bearer {key}").status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")
    body = {"name": "x", "scope": "view", "days": 1}
    rejection = strict.post("/api/v1/tokens/", body, content_type="application/json")
    assert rejection.status_code == 403
    assert "CSRF" in rejection.json()["detail"]


def test_prefixes_of_keys_do_not_repeat():
    keys = [tokens.new_key() for _ in range(1000)]
    assert len({prefix for _, prefix in keys}) == 1000
    assert all(key.startswith(f"ksw_{prefix}_") for key, prefix in keys)


def test_all_sessions_and_tokens_of_a_person_are_one_person_in_the_threads_that_compute(
    viewer: User, editor: User, client: Client, rf: RequestFactory
) -> None:
    def asks(key: str = "", session: str = "") -> str:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = rf.get("/", headers=headers)
        if session:
            request.COOKIES[settings.SESSION_COOKIE_NAME] = session
        return person_of(request)

    first_key, second_key = (
        services.token_create(user=viewer, name=name, scope=Action.VIEW, days=1)[1] for name in "ab"
    )
    client.force_login(viewer)
    theirs = {asks(first_key), asks(second_key), asks(session=client.cookies[settings.SESSION_COOKIE_NAME].value)}
    assert len(theirs) == 1
    assert asks(services.token_create(user=editor, name="c", scope=Action.VIEW, days=1)[1]) not in theirs
    assert asks("ksw_invented") == asks(session="invented") == asks() == "127.0.0.1"
