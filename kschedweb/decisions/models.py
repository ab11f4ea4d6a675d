"""Questions about decisions that are too long for a request, and what jobs know of pending pods beforehand."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision
from kschedweb.web.translating import gettext_lazy as _


class QuestionKind(models.TextChoices):
    DECISION = "decision", _("Decision")
    EFFECT = "effect", _("Effect of an edited policy")
    GROUP = "group", _("Group of pods")
    GROUPS = "groups", _("Groups of pods")
    DEVICES = "devices", _("Devices")
    LOAD_AWARE = "load-aware", _("Load-aware policies")
    RUN = "run", _("Decision of a run")
    ROLL_OUT = "roll-out", "Roll-out"


class Question(Inquiry):
    """One question. Its answer, ``sentence``, ``content`` and ``columns``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    kind = models.CharField(max_length=16, choices=QuestionKind.choices)
    asked = models.JSONField()
    key = models.CharField(max_length=64, db_index=True, default="", db_default="")  # as of services.Ask
    address = models.TextField(blank=True, default="", db_default="")  # of the page that shows it, "" for its own
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    about = models.CharField(max_length=300)  # the snapshot in words
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=120)  # the revision in words
    sentence = models.TextField(blank=True)
    content = models.BinaryField(null=True)  # JSON, compressed
    columns = models.BinaryField(null=True)  # of decisions: kept/columns.py reads it

    objects = Covered("snapshot", visible_to_creator=True, part="own")

    @property
    def subject(self) -> str:
        """The pod ("namespace/name") or the group that it is about, else ""."""
        return str(self.asked.get("pod") or self.asked.get("group") or "")


class PendingOutcomes(models.Model):
    """What becomes of a snapshot's pending pods under a revision, worked out when the snapshot arrived."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="+")
    figures = models.CharField(max_length=64)  # the version of the figures of use that were in force
    asked = models.PositiveIntegerField()  # pods
    content = models.BinaryField()  # pending/outcomes.py reads it

    objects = Covered("snapshot", part=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "revision"], name="outcomes_once_a_revision")]
