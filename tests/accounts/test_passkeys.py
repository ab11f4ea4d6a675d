"""Passkeys by a key of this test: whose answers count, and what becomes of those that are no answers."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.core import context
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from django.test import Client, RequestFactory
from django.urls import reverse
from fido2.cose import ES256
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticationResponse,
    AuthenticatorData,
    CollectedClientData,
    RegistrationResponse,
)

from kschedweb.accounts.factors.answers import AnswerField
from kschedweb.accounts.models import User
from tests.support.html import elements

pytestmark = pytest.mark.django_db(transaction=True)

SITE = "http://testserver"
ELSEWHERE = [
    "https://testserver",
    "http://testserver:8080",
    "http://sub.testserver",
    "http://testserver.evil.example",
    "http://testserver/",
    "http://TESTSERVER@evil.example",
    "null",
    "",
]
PRESENT_AND_VERIFIED = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV


def encode(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


class Key:
    """A passkey as a browser would answer for it, with whatever origin it is told."""

    def __init__(self) -> None:
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.id = b"a key of the test"

    def register(self, options: dict[str, Any], origin: str = SITE, **changes: Any) -> dict[str, Any]:
        public = changes.get("public", ES256.from_cryptography_key(self.private.public_key()))
        credential = AttestedCredentialData.create(Aaguid.NONE, self.id, public)
        flags = PRESENT_AND_VERIFIED | AuthenticatorData.FLAG.AT
        data = AuthenticatorData.create(self._rp_hash(options["rp"]["id"]), flags, 0, credential)
        attestation = AttestationObject.create("none", changes.get("data", data), {})
        client_data = CollectedClientData.create("webauthn.create", options["challenge"], origin)
        return self._answer({"clientDataJSON": encode(client_data), "attestationObject": encode(attestation)})

    def confirm(self, options: dict[str, Any], origin: str = SITE) -> dict[str, Any]:
        data = AuthenticatorData.create(self._rp_hash(options["rpId"]), PRESENT_AND_VERIFIED, 1)
        client_data = CollectedClientData.create("webauthn.get", options["challenge"], origin)
        signature = self.private.sign(bytes(data) + client_data.hash, ec.ECDSA(hashes.SHA256()))
        parts = {"clientDataJSON": client_data, "authenticatorData": data, "signature": signature}
        return self._answer({name: encode(part) for name, part in parts.items()})

    def _rp_hash(self, name: str) -> bytes:
        return hashlib.sha256(name.encode()).digest()

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        name = encode(self.id)
        return {
            "id": name,
            "rawId": name,
            "type": "public-key",
            "response": response,
            "clientExtensionResults": {"credProps": {"rk": False}},
            "authenticatorAttachment": "platform",
        }


def options_at(client: Client, address: str) -> dict[str, Any]:
    (script,) = elements(client.get(address), "#passkey-options")
    options: dict[str, Any] = json.loads(script.text)["publicKey"]
    return options


@pytest.fixture
def adding(viewer: User) -> Client:
    """A person at the form that adds a passkey."""
    client = Client()
    client.post(reverse("login"), {"username": "viewer", "password": "viewer-password"})
    client.post(reverse("account_reauthenticate"), {"password": "viewer-password"})
    return client


def add(client: Client, key: Key, origin: str = SITE, **changes: Any) -> Any:
    answer = key.register(options_at(client, reverse("mfa_add_webauthn")), origin, **changes)
    return client.post(reverse("mfa_add_webauthn"), {"name": "Desk", "credential": json.dumps(answer)})


@pytest.fixture
def confirming(adding: Client) -> tuple[Client, Key]:
    """A person who added a passkey, at the step of a login that asks for it."""
    key = Key()
    assert add(adding, key).status_code == 302
    client = Client()
    client.post(reverse("login"), {"username": "viewer", "password": "viewer-password"})
    return client, key


def confirm(client: Client, key: Key, origin: str = SITE) -> Any:
    answer = key.confirm(options_at(client, reverse("mfa_authenticate")), origin)
    return client.post(reverse("mfa_authenticate"), {"credential": json.dumps(answer)})


def alerts(answer: Any) -> list[str]:
    return [" ".join(element.text.split()) for element in elements(answer, ".notice[role=alert]")]


def test_answers_to_another_address_add_no_passkey(adding: Client) -> None:
    for origin in ELSEWHERE:
        answer = add(adding, Key(), origin)
        assert answer.status_code == 200, origin
        assert alerts(answer) == [f"The passkey was used at another address. Open {SITE} and try again."], origin
    assert not Authenticator.objects.exists()


def test_answers_to_another_address_confirm_no_login(confirming: tuple[Client, Key]) -> None:
    for origin in ELSEWHERE:
        answer = confirm(*confirming, origin)
        assert answer.status_code == 200, origin
        assert alerts(answer) == [f"The passkey was used at another address. Open {SITE} and try again."], origin
    assert confirm(*confirming).status_code == 302


def test_origins_that_the_operator_trusts_count(confirming: tuple[Client, Key], settings: LazySettings) -> None:
    """A proxy that drops the port from the Host header."""
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.com", "http://testserver:8080"]
    assert confirm(*confirming, "http://testserver:8080").status_code == 302


def test_over_https_the_port_and_the_subdomain_count_too(adding: Client, settings: LazySettings) -> None:
    settings.HTTPS = True

    def add_over_https(origin: str) -> int:
        page = adding.get(reverse("mfa_add_webauthn"), secure=True)
        options = json.loads(elements(page, "#passkey-options")[0].text)["publicKey"]
        form = {"name": "", "credential": json.dumps(Key().register(options, origin))}
        status: int = adding.post(reverse("mfa_add_webauthn"), form, secure=True).status_code
        return status

    for origin in ("http://testserver", "https://testserver:8443", "https://sub.testserver"):
        assert add_over_https(origin) == 200
    assert add_over_https("https://testserver") == 302


BROKEN_VALUES: tuple[Any, ...] = (
    None,
    True,
    7,
    10**13,
    -1e300,
    "",
    "x",
    "A" * 10_000,
    "\ud800",
    [],
    ["x"],
    {},
    {"a": {}},
    ...,
)
OCTETS = (b"", b"\xff", b"{}", b"[]", b"null", b"[" * 10_000, b"\x9f" * 10_000, b"\xa1\x01" * 5_000)


def broken_answers(answer: dict[str, Any]) -> Iterator[str]:
    """Texts that are no answer, and ``answer`` with each of its values missing, of another shape, or cut short."""
    yield from ("", "x", "[", "[" * 100_000, "null", "[]", "{}", '"x"', "1e999", '{"id": NaN}')
    response = answer["response"]
    for name, value in itertools.product(("id", "rawId", "type", "response"), BROKEN_VALUES):
        yield _text(answer, name, value)
    for name, value in itertools.product(response, BROKEN_VALUES):
        yield _text(answer, "response", json.loads(_text(response, name, value)))
    for name in response:
        octets_in_full = base64.urlsafe_b64decode(response[name] + "==")
        cut = [octets_in_full[:size] for size in range(1, len(octets_in_full), max(1, len(octets_in_full) // 8))]
        for octets in (*OCTETS, *cut):
            yield _text(answer, "response", {**response, name: encode(octets)})


def _text(answer: dict[str, Any], name: str, value: Any) -> str:
    other_items = {key: item for key, item in answer.items() if key != name}
    return json.dumps(other_items if value is ... else {**other_items, name: value})


def test_a_field_reads_answers_and_refuses_all_else_with_a_sentence() -> None:
    options = {"challenge": encode(b"c" * 32), "rpId": "testserver", "rp": {"id": "testserver"}}
    with context.request_context(RequestFactory().get("/")):
        for kind, answer in (
            (RegistrationResponse, Key().register(options)),
            (AuthenticationResponse, Key().confirm(options)),
        ):
            field = AnswerField(kind)
            for text in broken_answers(answer):
                with contextlib.suppress(ValidationError):  # any other error fails the test
                    read = field.clean(text)  # such as without a type, or with a signature that is wrong
                    assert {type(part) for part in (read["rawId"], *read["response"].values())} == {str}, text[:200]


def test_what_is_no_answer_is_a_sentence_at_both_forms(confirming: tuple[Client, Key], adding: Client) -> None:
    for client, address in ((adding, reverse("mfa_add_webauthn")), (confirming[0], reverse("mfa_authenticate"))):
        for text in ("", "[" * 100_000, "null", "{}", '{"rawId": 7}'):
            response = client.post(address, {"credential": text})
            assert (response.status_code, len(alerts(response))) == (200, 1), text[:200]


def test_keys_that_could_confirm_nothing_are_not_added(adding: Client) -> None:
    public_key = dict(ES256.from_cryptography_key(Key().private.public_key()))
    unusable_keys = [
        {**public_key, 3: -65000},
        {**public_key, -2: b"\1" * 32},
        {**public_key, -3: "text"},
        {1: 2, 3: -7},
        {3: -257, -1: b"", -2: b""},
    ]
    for public in unusable_keys:
        assert alerts(add(adding, Key(), public=public)) == ["The passkey's answer cannot be used. Try again."]
    bare = AuthenticatorData.create(hashlib.sha256(b"testserver").digest(), PRESENT_AND_VERIFIED, 0)
    assert alerts(add(adding, Key(), data=bare)) == ["The passkey's answer cannot be used. Try again."]


def test_a_row_keeps_what_a_login_needs_alone(confirming: tuple[Client, Key]) -> None:
    stored = Authenticator.objects.get(type="webauthn").data
    assert set(stored["credential"]) == {"id", "rawId", "type", "response"}
    assert set(stored["credential"]["response"]) == {"clientDataJSON", "attestationObject"}
