"""Sign-in at an identity provider: what it signs is verified, and what it says of groups holds at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import jwt
import pytest
from allauth.socialaccount.models import SocialAccount
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from kschedweb.accounts import services
from kschedweb.accounts.administrators import list_administrators
from kschedweb.accounts.models import AuditEntry, ProviderSession, Token, User
from kschedweb.accounts.signin import identity_tokens
from kschedweb.accounts.signin.provider_sessions import ASK_AT
from tests.support.html import elements
from tests.support.issuer import Issuer, issuing

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def one_issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


@pytest.fixture
def issuer(one_issuer: Issuer, settings: LazySettings) -> Issuer:
    one_issuer.reset()
    identity_tokens.forget_published()
    settings.IDENTITY_PROVIDERS = {"company": one_issuer.provider()}
    return one_issuer


def reason(answer: Any) -> str:
    return str(elements(answer, "#refusal")[0]["data-reason"])


def later(client: Client) -> None:
    """The time to ask the provider again has come."""
    session = client.session
    session[ASK_AT] = time.time() - 1
    session.save()


def test_a_sign_in_makes_a_person_with_the_role_of_their_groups(issuer: Issuer) -> None:
    client = Client()
    back = issuer.sign_in(client, reverse("tokens"))
    assert back["Location"] == reverse("tokens")
    user = User.objects.get(username="erin")
    assert (user.role, user.provider, user.group_names) == ("editor", "company", frozenset({"engineers"}))
    assert not user.has_usable_password()
    assert client.get(reverse("tokens")).status_code == 200
    verbs = AuditEntry.objects.order_by("id").values_list("verb", flat=True)
    assert list(verbs) == ["user.created", "login.succeeded"]
    assert AuditEntry.objects.get(verb="login.succeeded").details == {"provider": "company"}


def test_it_asks_with_pkce_a_nonce_and_nothing_of_the_request(issuer: Issuer) -> None:
    client = Client()
    answer = client.get(reverse("provider-begin", args=["company"]), {"scope": "admin", "auth_params": "prompt=none"})
    location = answer["Location"]
    assert "code_challenge_method=S256" in location
    assert "admin" not in location
    assert "prompt" not in location
    first, second = issuer.leave(client), issuer.leave(client)
    assert all(first[name] != second[name] for name in ("nonce", "state", "code_challenge"))


def test_a_sign_in_never_leads_to_another_site(issuer: Issuer) -> None:
    assert issuer.sign_in(Client(), "https://evil.example/")["Location"] == "/"


def test_the_same_subject_is_the_same_person_whatever_the_name(issuer: Issuer) -> None:
    issuer.sign_in(Client())
    issuer.claims = {"preferred_username": "erin.e"}
    issuer.sign_in(Client())
    assert User.objects.filter(provider="company").count() == 1


def test_a_name_or_an_address_that_somebody_has_gives_nobody_their_account(issuer: Issuer, editor: User) -> None:
    User.objects.filter(pk=editor.pk).update(username="erin", email="erin@example.org", role="admin")
    issuer.claims = {"email_verified": True}
    issuer.sign_in(Client())
    user = SocialAccount.objects.get(uid="s-1").user
    assert (user.username, user.role) == ("erin-2", "editor")
    editor.refresh_from_db()
    assert (editor.role, editor.provider) == ("admin", "")


@pytest.mark.parametrize(("email_verified", "is_linked"), [(True, True), (False, False), ("true", False)])
def test_a_verified_address_links_where_that_is_switched_on(
    issuer: Issuer, settings: LazySettings, editor: User, email_verified: object, is_linked: bool
) -> None:
    settings.IDENTITY_PROVIDERS = {"company": issuer.provider(link_verified_email=True)}
    User.objects.filter(pk=editor.pk).update(email="Erin@example.org")
    issuer.claims = {"email_verified": email_verified}
    issuer.sign_in(Client())
    assert (SocialAccount.objects.get(uid="s-1").user == editor) is is_linked
    assert AuditEntry.objects.filter(verb="user.linked").exists() is is_linked


def test_a_verified_address_does_not_take_the_last_admin(issuer: Issuer, settings: LazySettings, admin: User) -> None:
    settings.IDENTITY_PROVIDERS = {"company": issuer.provider(link_verified_email=True)}
    User.objects.filter(pk=admin.pk).update(email="erin@example.org")
    issuer.claims = {"email_verified": True}
    answer = issuer.sign_in(Client())
    assert (answer.status_code, reason(answer)) == (403, "last-admin")
    assert not SocialAccount.objects.exists()
    assert list(list_administrators()) == [admin]
    issuer.groups = ["platform-admins"]
    issuer.sign_in(Client())
    assert [administrator.provider for administrator in list_administrators()] == ["company"]


def test_groups_that_change_do_not_take_the_last_admin(issuer: Issuer, admin: User) -> None:
    issuer.groups = ["platform-admins"]
    issuer.sign_in(client := Client())
    services.user_set_active(actor=admin, user=admin, active=False)
    issuer.groups = ["engineers"]
    for _ in range(2):
        later(client)
        assert client.get(reverse("people")).status_code == 200
    erin = User.objects.get(username="erin")
    assert (list(list_administrators()), erin.group_names) == ([erin], frozenset({"platform-admins"}))
    entry = AuditEntry.objects.get(verb="user.role-kept")
    assert entry.details == {"role": "admin", "told": "editor", "provider": "company"}
    User.objects.filter(pk=admin.pk).update(is_active=True)
    later(client)
    assert client.get(reverse("people")).status_code == 403
    assert list(list_administrators()) == [admin]


def test_whom_no_rule_lets_in_is_refused_and_written_down(issuer: Issuer) -> None:
    issuer.groups = ["visitors"]
    answer = issuer.sign_in(client := Client())
    assert (answer.status_code, reason(answer)) == (403, "groups")
    assert not User.objects.exists()
    assert "_auth_user_id" not in client.session
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.details) == ("login.refused", {"provider": "company", "reason": "groups"})


def test_a_deactivated_person_is_refused(issuer: Issuer, admin: User) -> None:
    issuer.sign_in(Client())
    services.user_set_active(actor=admin, user=User.objects.get(username="erin"), active=False)
    assert reason(issuer.sign_in(Client())) == "deactivated"


def forge_key(issuer: Issuer) -> None:
    issuer.key = rsa.generate_private_key(65537, 2048)


def of_an_unknown_key(issuer: Issuer) -> None:
    issuer.key, issuer.kid = rsa.generate_private_key(65537, 2048), "second"


def signed_with_the_secret(issuer: Issuer) -> None:
    issuer.key, issuer.algorithm = "a-secret-of-the-tests-that-is-long-enough", "HS256"


def not_signed(issuer: Issuer) -> None:
    issuer.key, issuer.algorithm = "", "none"


def claiming(**claims: Any) -> Callable[[Issuer], None]:
    def change(issuer: Issuer) -> None:
        issuer.claims = claims

    return change


WRONG = {
    "signature is wrong": forge_key,
    "signed with a key that the provider does not have": of_an_unknown_key,
    "signed in a way that is not accepted": signed_with_the_secret,
    "expired": claiming(exp=int(time.time()) - 60),
    "made for another client": claiming(aud="another"),
    "made by another issuer": claiming(iss="https://evil.example"),
    "answer to another sign-in": claiming(nonce="another"),
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        *((change, problem) for problem, change in WRONG.items()),
        (not_signed, "signed in a way that is not accepted"),
        (claiming(nonce=None), "answer to another sign-in"),
        (claiming(aud=["kschedweb", "another"]), "made for another client"),
        (claiming(aud=["kschedweb", "another"], azp="another"), "made for another client"),
        (claiming(sub=None), "not valid (MissingRequiredClaimError)"),
        (claiming(exp=None), "not valid (MissingRequiredClaimError)"),
        (claiming(iat=int(time.time()) + 86_400), "not valid (ImmatureSignatureError)"),
    ],
)
def test_a_token_that_is_not_right_signs_nobody_in(
    issuer: Issuer, change: Callable[[Issuer], None], problem: str
) -> None:
    change(issuer)
    answer = issuer.sign_in(client := Client())
    assert (answer.status_code, reason(answer)) == (401, "token")
    assert "_auth_user_id" not in client.session
    assert not User.objects.exists()
    assert not ProviderSession.objects.exists()
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.details["what"]) == ("login.refused", problem)


def test_a_code_without_its_verifier_gets_no_token(issuer: Issuer) -> None:
    client = Client()
    authorization = issuer.leave(client)
    answer = issuer.come_back(client, authorization | {"code_challenge": "of-somebody-else"})
    assert (answer.status_code, reason(answer)) == (401, "exchange")


@pytest.mark.parametrize("misuse", ["forgotten", "of another browser", "twice"])
def test_a_state_counts_once_in_the_browser_that_has_it(issuer: Issuer, misuse: str) -> None:
    client = Client()
    authorization = issuer.leave(client)
    if misuse == "forgotten":
        authorization["state"] = "made-up"
    elif misuse == "twice":
        issuer.come_back(client, authorization)
    answer = issuer.come_back(Client() if misuse == "of another browser" else client, authorization)
    assert (answer.status_code, reason(answer)) == (400, "state")


EXPECTED_REFUSALS = {"state": (400, "state"), "code": (401, "exchange"), "token": (401, "token")}


@pytest.mark.parametrize("swapped", EXPECTED_REFUSALS)
def test_what_one_provider_gave_counts_nothing_for_another(
    issuer: Issuer, settings: LazySettings, swapped: str
) -> None:
    with issuing() as other_issuer:
        settings.IDENTITY_PROVIDERS["other"] = other_issuer.provider(id="other")
        authorization = issuer.leave(client := Client())
        giver = issuer if swapped == "token" else other_issuer
        giver.challenges["code-1"], giver.nonces["code-1"] = authorization["code_challenge"], authorization["nonce"]
        if swapped == "token":  # handed on, as the other one signed it
            issuer.key, issuer.claims = other_issuer.published, {"iss": other_issuer.url}
        callback = reverse("provider-callback", args=["other" if swapped == "state" else "company"])
        answer = client.get(callback, {"code": "code-1", "state": authorization["state"]})
        assert swapped == "token" or other_issuer.challenges, "the code and its verifier went nowhere"
    assert (answer.status_code, reason(answer)) == EXPECTED_REFUSALS[swapped]
    assert "_auth_user_id" not in client.session
    assert not User.objects.exists()


def test_who_cancels_is_told_so_without_an_entry(issuer: Issuer) -> None:
    client = Client()
    authorization = issuer.leave(client)
    callback = reverse("provider-callback", args=["company"])
    answer = client.get(callback, {"error": "access_denied", "state": authorization["state"]})
    assert reason(answer) == "cancelled"
    assert not AuditEntry.objects.exists()


def test_a_provider_that_is_away_is_said(issuer: Issuer, settings: LazySettings) -> None:
    settings.IDENTITY_PROVIDERS = {"company": issuer.provider(issuer="http://127.0.0.1:9")}
    answer = Client().get(reverse("provider-begin", args=["company"]))
    assert (answer.status_code, reason(answer)) == (503, "away")


def test_groups_that_changed_hold_for_the_request_that_asks(issuer: Issuer) -> None:
    issuer.sign_in(client := Client())
    assert client.get(reverse("people")).status_code == 403
    issuer.groups = ["platform-admins"]
    assert client.get(reverse("people")).status_code == 403  # not asked yet
    assert issuer.refreshes == 0
    later(client)
    assert client.get(reverse("people")).status_code == 200
    assert issuer.refreshes == 1
    entry = AuditEntry.objects.get(verb="user.role-changed")
    assert entry.details == {"before": "editor", "after": "admin", "provider": "company"}
    client.get(reverse("people"))
    assert issuer.refreshes == 1


def test_whose_groups_are_gone_loses_sessions_and_tokens(issuer: Issuer) -> None:
    issuer.sign_in(client := Client())
    issuer.sign_in(other_client := Client())
    user = User.objects.get(username="erin")
    token, _ = services.token_create(user=user, name="ci", scope="view", days=1)
    issuer.groups = []
    later(client)
    assert client.get(reverse("tokens")).status_code == 302
    assert other_client.get(reverse("tokens")).status_code == 302
    token.refresh_from_db()
    assert token.current_state == "revoked"
    assert AuditEntry.objects.get(verb="login.ended").details == {"by": "company", "reason": "groups"}


@pytest.mark.parametrize(
    ("change", "reason_of_end"),
    [
        (lambda issuer: setattr(issuer, "refresh_error", (400, "invalid_grant")), "ended at the provider"),
        (claiming(sub="s-2"), "the answer is about somebody else"),
        (forge_key, "identity token signature is wrong"),
    ],
)
def test_a_session_that_the_provider_does_not_confirm_is_over(
    issuer: Issuer, change: Callable[[Issuer], None], reason_of_end: str
) -> None:
    issuer.sign_in(client := Client())
    change(issuer)
    later(client)
    assert client.get(reverse("tokens")).status_code == 302
    assert AuditEntry.objects.get(verb="login.ended").details["reason"] == reason_of_end
    assert not ProviderSession.objects.exists()


def test_without_a_refresh_token_the_session_ends_when_it_would_be_asked(issuer: Issuer) -> None:
    issuer.with_refresh_token = False
    issuer.sign_in(client := Client())
    assert client.get(reverse("tokens")).status_code == 200
    later(client)
    assert client.get(reverse("tokens")).status_code == 302


def test_a_provider_may_be_away_for_a_while(issuer: Issuer, settings: LazySettings) -> None:
    issuer.sign_in(client := Client())
    issuer.refresh_error = (503, "busy")
    later(client)
    assert client.get(reverse("tokens")).status_code == 200
    long_ago = ProviderSession.objects.get().answered_at.replace(year=2020)
    ProviderSession.objects.update(answered_at=long_ago)
    later(client)
    assert client.get(reverse("tokens")).status_code == 302


def test_a_logout_leads_to_the_providers(issuer: Issuer) -> None:
    issuer.sign_in(client := Client())
    (button,) = elements(client.post(reverse("logout")), "#farewell")
    assert button["href"].startswith(f"{issuer.url}/end?client_id=kschedweb&post_logout_redirect_uri=http%3A%2F%2Ftest")
    hint = button["href"].partition("id_token_hint=")[2]
    assert jwt.decode(hint, options={"verify_signature": False})["sub"] == "s-1"
    assert "_auth_user_id" not in client.session
    assert not ProviderSession.objects.exists()


def event(issuer: Issuer, **claims: Any) -> str:
    right: dict[str, Any] = {
        "events": {identity_tokens.LOGOUT_EVENT: {}},
        "jti": f"j-{time.monotonic_ns()}",
        "exp": None,
    }
    return issuer.signed(**(right | claims))


@pytest.mark.parametrize("claims", [{"sub": None}, {"sid": None}, {}])
def test_the_provider_ends_a_session_at_once(issuer: Issuer, claims: dict[str, Any]) -> None:
    issuer.sign_in(client := Client())
    logout_address = reverse("provider-backchannel", args=["company"])
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(logout_address, {"logout_token": event(issuer, **claims)}).status_code == 200
    assert client.get(reverse("tokens")).status_code == 302


@pytest.mark.parametrize(
    "claims",
    [{"events": {}}, {"nonce": "n"}, {"sub": None, "sid": None}, {"aud": "another"}, {"iat": 1}, {"jti": None}],
)
def test_a_logout_token_that_is_not_right_ends_nothing(issuer: Issuer, claims: dict[str, Any]) -> None:
    issuer.sign_in(client := Client())
    logout_address = reverse("provider-backchannel", args=["company"])
    assert client.post(logout_address, {"logout_token": event(issuer, **claims)}).status_code == 400
    assert client.get(reverse("tokens")).status_code == 200


def test_a_logout_token_counts_once_and_an_identity_token_is_none(issuer: Issuer) -> None:
    logout_address = reverse("provider-backchannel", args=["company"])
    token = event(issuer)
    assert Client().post(logout_address, {"logout_token": token}).status_code == 200
    assert Client().post(logout_address, {"logout_token": token}).status_code == 400
    assert Client().post(logout_address, {"logout_token": issuer.identity_token()}).status_code == 400


def test_the_role_is_the_providers_and_admins_are_told_so(issuer: Issuer, client_as: Callable[[str], Client]) -> None:
    issuer.sign_in(Client())
    admin = client_as("admin")
    admin.post(reverse("person-role", args=["erin"]), {"role": "admin"})
    admin.post(reverse("person-password", args=["erin"]))
    user = User.objects.get(username="erin")
    assert user.role == "editor"
    assert not user.has_usable_password()


def test_no_token_of_the_provider_is_readable_in_the_database(issuer: Issuer) -> None:
    issuer.sign_in(client := Client())
    row = ProviderSession.objects.get()
    assert "eyJ" not in row.id_token
    assert "refresh-1" not in row.refresh_token
    assert "eyJ" not in str(dict(client.session))
    assert "refresh-1" not in str(dict(client.session))
    assert "groups" not in str(SocialAccount.objects.get().extra_data)
    assert not Token.objects.exists()
