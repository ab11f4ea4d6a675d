"""Verifies what an identity provider signs. Even tokens that came directly from it are verified."""

from __future__ import annotations

import json
import secrets
import threading
import time
from dataclasses import dataclass

import jwt
import requests
from allauth.socialaccount.adapter import get_adapter

from kschedweb.accounts.signin.configuration import Provider
from kschedweb.engine.json_types import Json

# Asymmetric ones only: with HS256 anybody who has the client's secret could sign, and a public key could pass as one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Seconds for which a discovery document is kept, and between two readings of keys.
KEEP_SECONDS, KEYS_AGAIN_SECONDS = 600, 10
# Seconds that clocks may differ.
LEEWAY = 30
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
# Characters of a token.
LONGEST = 65_536


class TokenError(Exception):
    """A token is not what it should be. The message is for the log and the audit trail, and holds nothing of it."""


class ProviderAway(Exception):
    """The identity provider does not answer, or not as a provider should."""


@dataclass
class ProviderDocuments:
    """The published addresses and keys of a provider."""

    document: Json
    # Monotonic seconds, and so is ``keys_at``.
    read_at: float
    # By key id.
    keys: dict[str, jwt.PyJWK]
    keys_at: float


_published: dict[str, ProviderDocuments] = {}
_lock = threading.Lock()


def forget_published() -> None:
    """Forget the published documents, so that they are read anew."""
    _published.clear()


def document_of(provider: Provider) -> Json:
    """Return the provider's discovery document. Raises ProviderAway."""
    published = _published.get(provider.issuer)
    if published is None or time.monotonic() - published.read_at > KEEP_SECONDS:
        document = _get_json(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        # Otherwise one provider could speak for another.
        if document.get("issuer") != provider.issuer:
            raise ProviderAway("its discovery document names another issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not isinstance(document.get(name), str):
                raise ProviderAway(f"its discovery document has no {name}")
        published = ProviderDocuments(document, time.monotonic(), {}, float("-inf"))
        with _lock:
            _published[provider.issuer] = published
    return published.document


def _get_json(address: str) -> Json:
    try:
        with get_adapter().get_requests_session() as session:
            answer = session.get(address)
            answer.raise_for_status()
            document = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise ProviderAway(type(error).__name__) from None
    if not isinstance(document, dict):
        raise ProviderAway("it answers no object")
    return document


def _find_key(provider: Provider, header: Json) -> jwt.PyJWK:
    """Return the key that ``header`` names. An unknown key may be new, so the keys are read again, at intervals."""
    document = document_of(provider)
    published = _published[provider.issuer]
    name = header.get("kid", "")
    if name not in published.keys and time.monotonic() - published.keys_at > KEYS_AGAIN_SECONDS:
        published.keys_at = time.monotonic()
        published.keys = _parse_keys(_get_json(document["jwks_uri"]))
    if name not in published.keys:
        raise TokenError("signed with a key that the provider does not have")
    return published.keys[name]


def _parse_keys(document: Json) -> dict[str, jwt.PyJWK]:
    keys = {}
    for entry in document.get("keys", ()):
        try:
            if entry.get("use", "sig") == "sig":
                keys[entry.get("kid", "")] = jwt.PyJWK(entry)
        except (jwt.PyJWTError, AttributeError, TypeError):
            # A kind of key that is not known here.
            continue
    return keys


def verify_token(provider: Provider, token: object, *, required: tuple[str, ...] = ("exp", "iat", "sub")) -> Json:
    """Return the claims of ``token``, which must be signed by ``provider`` for this site and valid. Raises
    TokenError.
    """
    if not isinstance(token, str) or not 0 < len(token) <= LONGEST:
        raise TokenError("missing")
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise TokenError("signed in a way that is not accepted")
        claims: Json = jwt.decode(
            token,
            key=_find_key(provider, header),
            algorithms=[header["alg"]],
            issuer=provider.issuer,
            audience=provider.client_id,
            leeway=LEEWAY,
            options={"require": ["iss", "aud", *required]},
        )
    except jwt.ExpiredSignatureError:
        raise TokenError("expired") from None
    except jwt.InvalidAudienceError:
        raise TokenError("made for another client") from None
    except jwt.InvalidIssuerError:
        raise TokenError("made by another issuer") from None
    except jwt.InvalidSignatureError:
        raise TokenError("signature is wrong") from None
    except (jwt.PyJWTError, json.JSONDecodeError, ValueError) as error:
        raise TokenError(f"not valid ({type(error).__name__})") from None
    # With several audiences, azp names the client that the token was made for (OpenID Connect Core 1.0, 3.1.3.7).
    audience = claims["aud"]
    several = isinstance(audience, list) and len(audience) > 1
    if claims.get("azp", None if several else provider.client_id) != provider.client_id:
        raise TokenError("made for another client")
    return claims


def identity_verified(provider: Provider, token: object, *, nonce: str | None) -> Json:
    """Return the claims of an identity token. ``nonce`` is that of the sign-in; ``None`` after a refresh."""
    claims = verify_token(provider, token)
    token_nonce = claims.get("nonce")
    if nonce is not None and not (
        isinstance(token_nonce, str) and secrets.compare_digest(token_nonce.encode(), nonce.encode())
    ):
        raise TokenError("answer to another sign-in")
    # A logout token has much the same claims, and must not sign anybody in.
    if LOGOUT_EVENT in _claimed_events(claims):
        raise TokenError("made for a logout")
    return claims


def logout_verified(provider: Provider, token: object) -> Json:
    """Return the claims of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6)."""
    claims = verify_token(provider, token, required=("iat", "jti"))
    if LOGOUT_EVENT not in _claimed_events(claims) or "nonce" in claims:
        raise TokenError("not made for a logout")
    if not (isinstance(claims.get("sub", ""), str) and isinstance(claims.get("sid", ""), str)):
        raise TokenError("subject or session is not a text")
    if not (claims.get("sub") or claims.get("sid")):
        raise TokenError("it names neither person nor session")
    # Views refuse a repeated token for 15 minutes, so an older one need not be remembered.
    if abs(time.time() - claims["iat"]) > 300:
        raise TokenError("too old")
    return claims


def _claimed_events(claims: Json) -> Json:
    events = claims.get("events")
    return events if isinstance(events, dict) else {}
