"""Questions about capacity that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.decisions.snapshot_inquiries import SnapshotInquiry
from kschedweb.web.translating import gettext_lazy as _


class CapacityKind(models.TextChoices):
    FIT = "fit", _("How many fit")
    NODES = "nodes", _("How many nodes")
    DRAIN = "drain", _("Drain rehearsal")
    GANGS = "gangs", _("How many gangs")
    BUFFER = "buffer", _("Buffer")
    CHANGE = "change", _("Lose or add nodes")


class Question(SnapshotInquiry):
    """A question about capacity. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    kind = models.CharField(max_length=16, choices=CapacityKind.choices)
    # The question as plain data, which queries.query_from_json reads.
    asked = models.JSONField()
    # Version of the engine that answered, with all feature gates.
    engine = models.CharField(max_length=20_000, blank=True, db_default="")

    objects = Covered("snapshot", visible_to_creator=True, part="own")
