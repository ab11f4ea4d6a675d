"""Change how a live scheduler answers kube-scheduler."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.clusters.connecting.credentials import ascii_pem
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.extender.secrets import compute_digest, new_secret
from kschedweb.live.extender.selectors import choosable_plugins, configuration_of
from kschedweb.web.errors import ApplicationError, FieldProblem, Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.live.schedulers.models import LiveScheduler

CHANGEABLE = frozenset(
    {"plugins", "filters", "prioritizes", "preempts", "binds", "whole_nodes", "weight", "timeout", "ignorable"}
    | {"authority"}
)
# Characters.
LARGEST_AUTHORITY = 100_000


@transaction.atomic
def endpoint_change(*, user: User | None, live: LiveScheduler, **changes: Any) -> Endpoint:
    """Set fields of ``CHANGEABLE``; every web process takes them over within seconds. Raises Unprocessable."""
    if unknown := set(changes) - CHANGEABLE:
        raise TypeError(f"not settings of an endpoint: {', '.join(sorted(unknown))}")
    endpoint = _lock_endpoint(live)
    before = {name: getattr(endpoint, name) for name in changes}
    for name, value in changes.items():
        setattr(endpoint, name, value)
    _check_endpoint(live, endpoint)
    different = {name: value for name, value in changes.items() if before[name] != value}
    if different:
        endpoint.save(update_fields=list(different))
        # The audit log does not need the whole certificate.
        details = {name: bool(value) if name == "authority" else value for name, value in different.items()}
        audit.record(user, "extender.changed", live, _live_name(live), **details)
    return endpoint


@transaction.atomic
def endpoint_secret_make(*, user: User | None, live: LiveScheduler) -> str:
    """Make a new secret and return it, this once. The old one opens nothing from now on."""
    secret = new_secret()
    endpoint = _lock_endpoint(live)
    endpoint.digest, endpoint.made_at = compute_digest(secret), timezone.now()
    endpoint.save(update_fields=["digest", "made_at"])
    audit.record(user, "extender.secret-made", live, _live_name(live))
    return secret


def _lock_endpoint(live: LiveScheduler) -> Endpoint:
    Endpoint.objects.get_or_create(scheduler=live)
    endpoint = Endpoint.objects.select_for_update().get(scheduler=live)
    endpoint.scheduler = live
    return endpoint


def _check_endpoint(live: LiveScheduler, endpoint: Endpoint) -> None:
    """Raise Unprocessable with each field that could not work."""
    known_plugins = choosable_plugins(configuration_of(live))
    plugins = endpoint.plugins
    if not isinstance(plugins, list) or not all(isinstance(name, str) for name in plugins):
        raise _field_error("plugins", "This is a list of plugins' names.")
    if unknown := [name for name in plugins if name not in known_plugins]:
        raise _field_error(
            "plugins", f"The policy neither filters nor scores with {unknown[0]}. It has {', '.join(known_plugins)}."
        )
    if len(set(plugins)) < len(plugins):
        raise _field_error("plugins", "Each plugin once.")
    if not (endpoint.filters or endpoint.prioritizes or endpoint.preempts or endpoint.binds):
        raise _field_error("prioritizes", "Choose at least one thing to be asked for.")
    if endpoint.authority:
        _check_authority(endpoint.authority)
    try:
        endpoint.clean_fields(exclude=["scheduler", "plugins", "made_at"])
    except ValidationError as error:
        problems = [
            FieldProblem(path=path, message=message) for path, texts in error.message_dict.items() for message in texts
        ]
        raise Unprocessable("The endpoint cannot be like this.", errors=problems) from None


def _check_authority(text: str) -> None:
    if len(text) > LARGEST_AUTHORITY or "PRIVATE KEY" in text:
        raise _field_error("authority", "Only the certificate of the authority belongs here, as PEM text.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ascii_pem(text))
    except (ssl.SSLError, ValueError, TypeError):
        raise _field_error("authority", "This is no certificate as PEM text (-----BEGIN CERTIFICATE-----).") from None


def _field_error(path: str, message: str) -> ApplicationError:
    return Unprocessable(message, errors=[FieldProblem(path=path, message=message)])


def _live_name(live: LiveScheduler) -> str:
    return f"{live.cluster.name}/{live.scheduler_name}"
