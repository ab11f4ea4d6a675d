"""Settings of a source. They are checked before any query; stored secrets may be kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from django.core.exceptions import ValidationError
from django.db.models import PositiveIntegerField

from kschedweb.clusters.connecting import sources
from kschedweb.clusters.connecting.addresses import AddressError, CheckedEndpoint, endpoint_check, server_split
from kschedweb.clusters.connecting.credentials import LONGEST_TOKEN, Secret, ascii_pem, credential_open
from kschedweb.clusters.models import Cluster
from kschedweb.watermarks.figures import BY_NAME
from kschedweb.watermarks.models import Authentication, SourceKind, Unit, WatermarkCredential, WatermarkSource
from kschedweb.web.errors import ApplicationError, FieldProblem

# Characters.
LONGEST_QUERY = 4000
NUMBERS = ("interval", "keep_hours", "keep_days", "keep_long_days")
# The fields of each kind of credentials, the secret last.
NEEDED: dict[str, tuple[str, ...]] = {
    Authentication.NONE: (),
    Authentication.BEARER: ("token",),
    Authentication.BASIC: ("username", "password"),
}
# The settings that a source's row stores unchanged.
STORED_SETTINGS = ("kind", "address", "authentication", "node_label", "unit", "queries", *NUMBERS)


@dataclass(frozen=True)
class SourceSettings:
    """The settings; see ``WatermarkSource``. Empty secrets keep the stored ones."""

    kind: str = SourceKind.NONE
    address: str = ""
    authentication: str = Authentication.NONE
    token: str = field(default="", repr=False)
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)
    # True to use the system's certificate authorities again.
    forget_ca: bool = False
    node_label: str = "instance"
    unit: str = Unit.CAPACITY_PERCENT
    queries: Mapping[str, str] = field(default_factory=dict)
    interval: int = 60
    keep_hours: int = 24
    keep_days: int = 7
    keep_long_days: int = 90


def settings_check(settings: SourceSettings) -> None:
    """Raise ``ApplicationError`` with all invalid fields, without querying a server."""
    problems = [*_query_problems(settings), *_number_problems(settings), *_text_problems(settings)]
    if settings.kind == SourceKind.PROMETHEUS:
        problems += _prometheus_problems(settings)
    if problems:
        raise ApplicationError(problems[0]["message"], errors=problems)
    if settings.ca.strip():
        sources.ca_check(settings.ca)


def _query_problems(settings: SourceSettings) -> Iterator[FieldProblem]:
    for name, query in settings.queries.items():
        if name not in BY_NAME:
            yield {"path": f"queries.{name}", "message": "There is no such figure."}
        elif len(query) > LONGEST_QUERY:
            yield {"path": f"queries.{name}", "message": f"At most {LONGEST_QUERY:,} characters."}


def _number_problems(settings: SourceSettings) -> Iterator[FieldProblem]:
    for name in NUMBERS:
        number = WatermarkSource._meta.get_field(name)
        assert isinstance(number, PositiveIntegerField)
        for check in number.validators:
            try:
                check(getattr(settings, name))
            except ValidationError as error:
                yield {"path": name, "message": " ".join(error.messages)}


def _text_problems(settings: SourceSettings) -> Iterator[FieldProblem]:
    for name in ("token", "username", "password"):
        value = getattr(settings, name).strip()
        if len(value) > LONGEST_TOKEN or not value.isprintable() or (name == "token" and not value.isascii()):
            yield {"path": name, "message": "This holds characters that cannot be sent."}


def _prometheus_problems(settings: SourceSettings) -> Iterator[FieldProblem]:
    if not settings.address.strip():
        yield {"path": "address", "message": "The address of Prometheus is needed."}
    if not any(query.strip() for query in settings.queries.values()):
        yield {"path": "queries", "message": "At least one query is needed: take a preset."}
    if not settings.node_label.strip():
        yield {"path": "node_label", "message": "The label that names a node is needed."}


def secret_of(cluster: Cluster, settings: SourceSettings) -> Secret:
    """Return the secret of the source: the entered one, else the stored one if the server is the same."""
    if settings.kind != SourceKind.PROMETHEUS:
        return Secret(server="")
    address = settings.address.strip()
    typed = Secret(server=address, ca=ascii_pem(settings.ca).strip())
    if settings.authentication == Authentication.BEARER:
        typed = replace(typed, token=settings.token.strip())
    elif settings.authentication == Authentication.BASIC:
        typed = replace(typed, username=settings.username.strip(), password=settings.password)
    needed = NEEDED[settings.authentication]
    stored = stored_secret(cluster)
    if stored is not None and _server_identity(stored.server) == _server_identity(address):
        if not settings.forget_ca:
            typed = replace(typed, ca=typed.ca or stored.ca)
        # Another user name needs another password.
        if needed and typed.username in ("", stored.username) and not getattr(typed, needed[-1]):
            typed = replace(typed, **{name: getattr(stored, name) for name in needed})
    for name in needed:
        if not getattr(typed, name):
            noun = {"username": "user name"}.get(name, name)
            message = f"The {noun} is needed; a stored one is used only while address and user name stay the same."
            raise ApplicationError.at(name, message)
    return typed


def _server_identity(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port, for which a secret is valid."""
    try:
        return server_split(address)[:3]
    except AddressError as error:
        raise address_error(error) from None


def is_secret(secret: Secret) -> bool:
    """Return whether the secret has anything to encrypt."""
    return secret != Secret(server=secret.server)


def stored_secret(cluster: Cluster) -> Secret | None:
    """Return the stored secret of the source of ``cluster``; ``None`` if it has none."""
    if not WatermarkCredential.objects.filter(cluster=cluster).exists():
        return None
    return credential_open(cluster, model=WatermarkCredential)


def endpoint_of(address: str, secret: Secret) -> CheckedEndpoint:
    """Return the checked endpoint of a Prometheus. http:// is allowed if no secret is sent."""
    try:
        carries = "the token" if secret.token else "the password"
        return endpoint_check(address, open=not (secret.token or secret.username), carries=carries)
    except AddressError as error:
        raise address_error(error) from None


def address_error(error: AddressError) -> ApplicationError:
    """Return ``error`` at the field of this form."""
    return ApplicationError.at("address", error.detail)
