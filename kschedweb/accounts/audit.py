"""The one way to write the audit trail."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.models import AuditEntry, User


def record(actor: User | None, verb: str, target: models.Model, name: str, **details: object) -> None:
    """Write that ``actor`` (``None``: the system) did ``verb`` to ``target``. ``details`` must hold no secret."""
    AuditEntry.objects.create(
        actor=actor,
        actor_name=actor.get_username() if actor else "system",
        verb=verb,
        object_type=target._meta.model_name,
        object_id=str(target.pk),
        object_name=name,
        details=details,
    )
