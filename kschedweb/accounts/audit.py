"""Writes the audit trail, and sends it on. Nothing else writes it."""

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
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.db import models

# Fields of an entry that REST and the lines that are sent on have.
FIELDS = ("id", "at", "actor_name", "address", "verb", "object_type", "object_id", "object_name", "details")
# The first word of a verb, and its name in the filter.
KINDS = {
    "annotations": _("Annotations"),
    "approval": _("Approvals"),
    "audit": _("Audit trail"),
    "autoscaling": _("Autoscaling"),
    "capacity": _("Capacity"),
    "change": _("Policy changes tried"),
    "cluster": _("Clusters"),
    "comparison": _("Comparisons"),
    "descheduling": _("Descheduling"),
    "experiment": _("Experiments"),
    "extender": _("Extenders"),
    "fleet": _("Many clusters"),
    "flight-recorder": _("Flight recorder"),
    "gate": _("Gate"),
    "grant": _("Grants"),
    "job": _("Jobs"),
    "live": _("Live schedulers"),
    "login": _("Logins"),
    "moves": _("Moves"),
    "plan": _("Plans of moves"),
    "policy": _("Policies"),
    "prices": _("Prices"),
    "recording": _("Recordings"),
    "repository": _("Policies from git"),
    "run": _("Runs"),
    "sandbox": _("Sandbox"),
    "scenario": _("Scenarios"),
    "sweep": _("Sweeps"),
    "token": _("Tokens"),
    "user": _("People"),
    "watermarks": _("Watermarks"),
    "webhook": _("Webhooks"),
}
# Verbs that a stranger can cause. Together they fill at most so many entries an hour, so that nobody can flood the
# trail.
REFUSALS = ("login.failed", "login.locked", "login.refused", "token.denied")
REFUSALS_AN_HOUR = 500
PAUSED = "audit.refusals-paused"

logger = structlog.get_logger(__name__)


def record(actor: User | None, verb: str, target: models.Model, name: str, **details: object) -> None:
    """Write that ``actor`` (``None``: the system) did ``verb`` to ``target``.

    ``details`` must hold no secret. Anything that looks like one is masked all the same.
    """
    _write_entry(
        actor=actor,
        actor_name=actor.get_username() if actor else "system",
        verb=verb,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        # The length of the column; names of Kubernetes are no longer.
        object_name=name[:253],
        details=redact(details),
    )


def record_refusal(verb: str, user: User | None, **details: object) -> None:
    """Write that a stranger was refused as ``user`` (``None``: unknown).

    The typed name is not kept, since people type their password in place of it. Beyond the limit one entry says so, and
    the log has the rest.
    """
    logger.warning("refused", verb=verb, user=user.get_username() if user else None, **details)
    last_hour = AuditEntry.objects.filter(at__gt=timezone.now() - timedelta(hours=1), verb__in=(*REFUSALS, PAUSED))
    # Counting stops just beyond the limit, so that it stays cheap under attack.
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
        # Only after the commit: the lines must not tell of changes that were rolled back.
        transaction.on_commit(partial(_append_to_log, entry), robust=True)


def _append_to_log(entry: AuditEntry) -> None:
    """Append one JSON object as a line, in one write, so that lines of several processes do not mix."""
    line = json.dumps({name: getattr(entry, name) for name in FIELDS}, cls=DjangoJSONEncoder, ensure_ascii=False)
    # The file is opened each time, because a tool that rotates files may have moved it.
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
