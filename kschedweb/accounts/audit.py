"""The one way to write the audit trail, and to send it on."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.utils import timezone

from kschedweb.accounts.addresses import current_address
from kschedweb.accounts.models import AuditEntry, User
from kschedweb.web.redaction import redact

if TYPE_CHECKING:
    from django.db import models

# What is told of an entry: by REST, and in the lines that are sent on.
FIELDS = ("id", "at", "actor_name", "address", "verb", "object_type", "object_id", "object_name", "details")
# What a verb begins with, and what the filter calls it.
KINDS = {
    "annotations": "Annotations",
    "approval": "Approvals",
    "audit": "Audit trail",
    "autoscaling": "Autoscaling",
    "capacity": "Capacity",
    "change": "Policy changes tried",
    "cluster": "Clusters",
    "comparison": "Comparisons",
    "descheduling": "Descheduling",
    "experiment": "Experiments",
    "extender": "Extenders",
    "fleet": "Many clusters",
    "flight-recorder": "Flight recorder",
    "gate": "Gate",
    "grant": "Grants",
    "job": "Jobs",
    "live": "Live schedulers",
    "login": "Logins",
    "moves": "Moves",
    "plan": "Plans of moves",
    "policy": "Policies",
    "prices": "Prices",
    "recording": "Recordings",
    "repository": "Policies from git",
    "run": "Runs",
    "sandbox": "Sandbox",
    "scenario": "Scenarios",
    "sweep": "Sweeps",
    "token": "Tokens",
    "user": "People",
    "watermarks": "Watermarks",
    "webhook": "Webhooks",
}
# What a stranger can cause: of all of these together the trail takes this many an hour, whoever sends what.
REFUSALS = ("login.failed", "login.locked", "login.refused", "token.denied")
REFUSALS_AN_HOUR = 500
PAUSED = "audit.refusals-paused"

logger = structlog.get_logger(__name__)


def record(actor: User | None, verb: str, target: models.Model, name: str, **details: object) -> None:
    """Write that ``actor`` (``None``: the system) did ``verb`` to ``target``. ``details`` must hold no secret;
    what looks like one is masked all the same.
    """
    _write_entry(
        actor=actor,
        actor_name=actor.get_username() if actor else "system",
        verb=verb,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        object_name=name[:253],
        details=redact(details),
    )


def record_refusal(verb: str, user: User | None, **details: object) -> None:
    """Write that a stranger was refused as ``user`` (``None``: nobody of ours; what was typed is not kept, since people
    type their password in place of their name). Beyond the limit one entry says so, and the log has the rest.
    """
    logger.warning("refused", verb=verb, user=user.get_username() if user else None, **details)
    last_hour = AuditEntry.objects.filter(at__gt=timezone.now() - timedelta(hours=1), verb__in=(*REFUSALS, PAUSED))
    entry_count = last_hour[: REFUSALS_AN_HOUR + 1].count()
    if entry_count > REFUSALS_AN_HOUR:
        return
    if entry_count == REFUSALS_AN_HOUR:
        verb, user, details = PAUSED, None, {"an_hour": REFUSALS_AN_HOUR}
    _write_entry(
        actor=None,
        actor_name="stranger",
        verb=verb,
        object_type="user",
        object_id=str(user.pk) if user else "",
        object_name=user.get_username() if user else "",
        details=redact(details),
    )


def _write_entry(**fields: object) -> None:
    entry = AuditEntry.objects.create(address=current_address(), **fields)
    if settings.AUDIT_LOG:
        transaction.on_commit(partial(_append_to_log, entry), robust=True)


def _append_to_log(entry: AuditEntry) -> None:
    """One JSON object a line, in one write, so that lines of several processes do not mix."""
    line = json.dumps({name: getattr(entry, name) for name in FIELDS}, cls=DjangoJSONEncoder, ensure_ascii=False)
    # A file is opened each time: a tool that rotates files may have moved it.
    stdout = settings.AUDIT_LOG == "stdout"
    try:
        file = 1 if stdout else os.open(settings.AUDIT_LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            if not stdout:
                os.close(file)
    except OSError as error:
        logger.exception("audit_not_sent", entry=entry.pk, reason=error.strerror)
