"""The configured ways to sign in from outside: identity providers and a proxy's header, from a file and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from kschedweb.accounts.signin.rules import REFUSED, ROLES, RoleRule, RoleRules, grant_of, role_read, rules_read
from kschedweb.web import variables

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?")
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")
# The provider of people who came by the proxy's header.
HEADER = "header"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
SCOPES = tuple(variables.OIDC_SCOPES.default.split(","))
VARIABLE = variables.IDENTITY_PROVIDERS.name


@dataclass(frozen=True)
class Provider:
    """An identity provider that speaks OpenID Connect."""

    # A part of addresses and rows, so it must not change.
    id: str
    label: str
    # The issuer's https:// address, as its discovery document names it.
    issuer: str
    client_id: str
    # "" for a public client, which PKCE alone protects.
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = SCOPES
    # The claim with the names of groups.
    groups_claim: str = "groups"
    username_claim: str = "preferred_username"
    # True to link people of this site by a verified address.
    link_verified_email: bool = False
    rules: RoleRules = field(default_factory=RoleRules)


@dataclass(frozen=True)
class ProxyHeader:
    """The header by which a proxy names the person that it has signed in. Only the proxy's addresses may send it."""

    name: str
    groups_name: str
    networks: tuple[IPv4Network | IPv6Network, ...]
    rules: RoleRules


def providers_read() -> dict[str, Provider]:
    """Return the configured providers by their id, in their order. Raises ImproperlyConfigured."""
    providers = [*_of_file(), *_of_environment()]
    by_id = {provider.id: provider for provider in providers}
    if len(by_id) < len(providers):
        raise ImproperlyConfigured(f"{VARIABLE}: two providers have the same id.")
    return by_id


def _of_environment() -> list[Provider]:
    issuer = variables.OIDC_ISSUER.read()
    if not issuer:
        return []
    try:
        grants = variables.OIDC_GRANTS.read_list()
        otherwise = variables.OIDC_OTHERWISE.read()
        rules = rules_read(variables.OIDC_ROLES.read_list(), otherwise, grants)
    except ValueError as error:
        raise ImproperlyConfigured(f"KSCHEDWEB_OIDC_ROLES, _GRANTS or _OTHERWISE: {error}.") from None
    provider = Provider(
        id="oidc",
        label=variables.OIDC_LABEL.read(),
        issuer=issuer,
        client_id=variables.OIDC_CLIENT_ID.read(),
        client_secret=variables.OIDC_CLIENT_SECRET.read(),
        scopes=tuple(variables.OIDC_SCOPES.read_list()),
        groups_claim=variables.OIDC_GROUPS_CLAIM.read(),
        rules=rules,
    )
    return [_check_provider(provider, "KSCHEDWEB_OIDC_ISSUER")]


def _of_file() -> list[Provider]:
    path = variables.IDENTITY_PROVIDERS.read()
    if not path:
        return []
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ImproperlyConfigured(f"{VARIABLE} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ImproperlyConfigured(f"{VARIABLE} is not well-formed YAML.") from None
    entries = document.get("providers") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ImproperlyConfigured(f"{VARIABLE}: the file must have a list named providers.")
    return [_provider_from_entry(entry, f"{VARIABLE}: providers[{number}]") for number, entry in enumerate(entries)]


# The keys of a provider in the file, with their types in YAML.
KEYS = {
    "id": str,
    "label": str,
    "issuer": str,
    "clientId": str,
    "clientSecretFile": str,
    "scopes": list,
    "groupsClaim": str,
    "usernameClaim": str,
    "linkVerifiedEmail": bool,
    "roles": list,
    "grants": list,
    "otherwise": str,
}


def _provider_from_entry(entry: Any, location: str) -> Provider:
    if not isinstance(entry, Mapping):
        raise ImproperlyConfigured(f"{location} must be a mapping.")
    for key, value in entry.items():
        if key not in KEYS:
            raise ImproperlyConfigured(f"{location}.{key} is not known: the keys are {', '.join(KEYS)}.")
        if not isinstance(value, KEYS[key]):
            raise ImproperlyConfigured(f"{location}.{key} is of the wrong type.")
    try:
        rules = RoleRules(
            tuple(RoleRule(str(rule["group"]), role_read(rule["role"])) for rule in entry.get("roles", ())),
            role_read(entry.get("otherwise", REFUSED)),
        )
    except (ValueError, KeyError, TypeError) as error:
        reason = error if isinstance(error, ValueError) else "each rule needs group and role"
        raise ImproperlyConfigured(f"{location}.roles: {reason}.") from None
    try:
        rules = replace(rules, grants=tuple(map(grant_of, entry.get("grants", ()))))
    except ValueError as error:
        raise ImproperlyConfigured(f"{location}.grants: {error}.") from None
    provider = Provider(
        id=entry.get("id", ""),
        label=entry.get("label", entry.get("id", "")),
        issuer=entry.get("issuer", ""),
        client_id=entry.get("clientId", ""),
        client_secret=_read_secret(entry.get("clientSecretFile", ""), location),
        scopes=tuple(map(str, entry.get("scopes", SCOPES))),
        groups_claim=entry.get("groupsClaim", "groups"),
        username_claim=entry.get("usernameClaim", "preferred_username"),
        link_verified_email=entry.get("linkVerifiedEmail", False),
        rules=rules,
    )
    return _check_provider(provider, location)


def _read_secret(path: str, location: str) -> str:
    if not path:
        # A public client, which PKCE alone protects.
        return ""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{location}.clientSecretFile cannot be read: {error.strerror}.") from None


def _check_provider(provider: Provider, location: str) -> Provider:
    if not NAME.fullmatch(provider.id) or provider.id == HEADER:
        raise ImproperlyConfigured(f"{location}: an id has 1 to 32 of a-z, 0-9 and -, and is not {HEADER}.")
    parts = urlsplit(provider.issuer)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ImproperlyConfigured(f"{location}: the issuer must be an https:// address.")
    if not provider.client_id:
        raise ImproperlyConfigured(f"{location}: the client id is missing.")
    if "openid" not in provider.scopes:
        raise ImproperlyConfigured(f"{location}: the scopes must include openid.")
    return provider


def header_read() -> ProxyHeader | None:
    """Return the header of a proxy; ``None`` if there is none. Raises ImproperlyConfigured."""
    name = variables.REMOTE_USER_HEADER.read()
    groups_name = variables.REMOTE_GROUPS_HEADER.read()
    proxies = variables.REMOTE_USER_PROXIES.read_list()
    if not name:
        return None
    for variable, header_name in (("USER", name), ("GROUPS", groups_name)):
        if header_name and not HEADER_NAME.fullmatch(header_name):
            raise ImproperlyConfigured(f"KSCHEDWEB_REMOTE_{variable}_HEADER has letters, digits and - only.")
    if not proxies:
        raise ImproperlyConfigured("KSCHEDWEB_REMOTE_USER_PROXIES must name the proxy's addresses.")
    try:
        networks = tuple(ip_network(proxy, strict=False) for proxy in proxies)
        # 0.0.0.0/0 would let everybody be anybody.
        if not all(network.prefixlen for network in networks):
            raise ImproperlyConfigured("KSCHEDWEB_REMOTE_USER_PROXIES must not hold all addresses.")
    except ValueError as error:
        raise ImproperlyConfigured(f"KSCHEDWEB_REMOTE_USER_PROXIES: {error}.") from None
    try:
        grants = variables.REMOTE_GRANTS.read_list()
        otherwise = variables.REMOTE_OTHERWISE.read()
        rules = rules_read(variables.REMOTE_ROLES.read_list(), otherwise, grants)
    except ValueError as error:
        raise ImproperlyConfigured(f"KSCHEDWEB_REMOTE_ROLES, _GRANTS or _OTHERWISE: {error}.") from None
    return ProxyHeader(name, groups_name, networks, rules)


def rules_of(provider: str) -> RoleRules:
    """Return the rules for people of ``provider``, an identity provider's id or HEADER; none for others."""
    if provider == HEADER:
        return settings.REMOTE_HEADER.rules if settings.REMOTE_HEADER else RoleRules()
    configured: Provider | None = settings.IDENTITY_PROVIDERS.get(provider)
    return configured.rules if configured else RoleRules()


def roles_read(words: list[str]) -> frozenset[str]:
    """Return the roles that need a second factor. Raises ImproperlyConfigured."""
    if unknown := set(words) - set(ROLES):
        raise ImproperlyConfigured(f"KSCHEDWEB_SECOND_FACTOR_ROLES: {min(unknown)!r} is not one of {', '.join(ROLES)}.")
    return frozenset(words)
