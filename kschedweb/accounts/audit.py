"""The one way to write the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.redaction import redact

if TYPE_CHECKING:
    from django.db import models


def record(actor: User | None, verb: str, target: models.Model, name: str, **details: object) -> None:
    """Write that ``actor`` (``None``: the system) did ``verb`` to ``target``. ``details`` must hold no secret;
    what looks like one is masked all the same.
    """
    AuditEntry.objects.create(
        actor=actor,
        actor_name=actor.get_username() if actor else "system",
        verb=verb,
        object_type=target._meta.model_name or "",
        object_id=str(target.pk),
        object_name=name[:253],
        details=redact(details),
    )
