"""Questions about capacity that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision
from kschedweb.web.translating import gettext_lazy as _


class CapacityKind(models.TextChoices):
    FIT = "fit", _("How many fit")
    NODES = "nodes", _("How many nodes")
    DRAIN = "drain", _("Drain rehearsal")
    GANGS = "gangs", _("How many gangs")
    BUFFER = "buffer", _("Buffer")


class Question(Inquiry):
    """A question about capacity. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    kind = models.CharField(max_length=16, choices=CapacityKind.choices)
    # The question as plain data, which queries.query_from_json reads.
    asked = models.JSONField()
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # Label of the snapshot.
    about = models.CharField(max_length=300)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # Label of the policy's revision.
    policy = models.CharField(max_length=120)
    # Version of the engine that answered, with all feature gates.
    engine = models.CharField(max_length=20_000, blank=True, db_default="")
    sentence = models.TextField(blank=True)
    # The answer, packed by answers.pack_answer; None until the job is done.
    content = models.BinaryField(null=True)

    objects = Covered("snapshot", visible_to_creator=True, part="own")
