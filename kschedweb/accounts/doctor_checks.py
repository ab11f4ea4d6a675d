"""The checks of `manage.py doctor` on the ways in: identity providers, the proxy's header, the one administrator."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from kschedweb.accounts.models import User
from kschedweb.accounts.roles import Role
from kschedweb.accounts.signin.identity_tokens import ProviderAway, document_of
from kschedweb.web.doctor import LOCAL, DoctorFinding, failure, ok, warning


def sign_in_examine() -> Iterator[DoctorFinding]:
    for provider in settings.IDENTITY_PROVIDERS.values():
        try:
            document = document_of(provider)
        except ProviderAway as away:
            yield failure(
                f"The identity provider {provider.id} does not answer as one: {away}.",
                f"Look whether {provider.issuer}/.well-known/openid-configuration can be read from here.",
            )
            continue
        # A provider that does not list its methods may well support S256.
        if "S256" not in document.get("code_challenge_methods_supported", ["S256"]):
            yield warning(f"The identity provider {provider.id} does not offer PKCE with S256.", "Switch it on there.")
        if not provider.rules.rules and provider.rules.otherwise == "refused":
            yield failure(
                f"No rule of the identity provider {provider.id} gives anybody a role: all are refused.",
                "Add rules from groups to roles, or a role for everybody else: docs/sign-in.md.",
            )
    yield from _examine_header()
    yield from _examine_break_glass()
    if settings.IDENTITY_PROVIDERS and not settings.HTTPS and not LOCAL.issuperset(settings.ALLOWED_HOSTS):
        yield failure(
            "People sign in at an identity provider, and KSCHEDWEB_HTTPS is off: codes travel in the open.",
            "Serve the site over https and set KSCHEDWEB_HTTPS=true.",
        )
    names = [*settings.IDENTITY_PROVIDERS, *(["header"] if settings.REMOTE_HEADER else [])]
    yield ok(f"passwords{''.join(f', {name}' for name in names)}")


def _examine_header() -> Iterator[DoctorFinding]:
    header = settings.REMOTE_HEADER
    if header is None:
        return
    # More than 256 addresses are no proxy, but a network with other machines in it.
    wide = [str(network) for network in header.networks if network.num_addresses > 256]
    if wide:
        yield warning(
            f"{header.name} counts from all of {', '.join(wide)}: whoever has an address there can be anybody.",
            "Name the proxy's own addresses in KSCHEDWEB_REMOTE_USER_PROXIES.",
        )
    networks = ", ".join(map(str, header.networks))
    yield ok(f"{header.name} counts from {networks}, and is ignored from every other address")


def _examine_break_glass() -> Iterator[DoctorFinding]:
    if settings.LOCAL_ACCOUNTS:
        return
    admin = User.objects.filter(username=settings.BREAK_GLASS, role=Role.ADMIN, is_active=True).first()
    if admin is None or not admin.has_usable_password():
        yield failure(
            f"Local accounts are off, and {settings.BREAK_GLASS} is no active administrator with a password.",
            f"Run `manage.py ensure_admin --username {settings.BREAK_GLASS}`, or with --reset.",
        )
    if not settings.IDENTITY_PROVIDERS and settings.REMOTE_HEADER is None:
        yield failure(
            "Local accounts are off, and there is no other way in.",
            "Configure an identity provider or a proxy's header: docs/sign-in.md.",
        )
