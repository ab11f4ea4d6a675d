"""Questions that take too long for a request, and outcomes of pending pods that jobs found beforehand."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.decisions.snapshot_inquiries import SnapshotInquiry
from kschedweb.policies.models import Revision
from kschedweb.web.translating import gettext_lazy as _


class QuestionKind(models.TextChoices):
    DECISION = "decision", _("Decision")
    EFFECT = "effect", _("Effect of an edited policy")
    GROUP = "group", _("Group of pods")
    GROUPS = "groups", _("Groups of pods")
    DEVICES = "devices", _("Devices")
    LOAD_AWARE = "load-aware", _("Load-aware policies")
    NODE = "node", _("Node")
    RUN = "run", _("Decision of a run")
    ROLL_OUT = "roll-out", "Roll-out"


class Question(SnapshotInquiry):
    """One question. Its answer (``sentence``, ``content`` and ``columns``) never changes.

    Labels remain when the objects that they name are deleted.
    """

    kind = models.CharField(max_length=16, choices=QuestionKind.choices)
    asked = models.JSONField()
    # The value of ``inquiring.services.QuestionRequest.key``.
    key = models.CharField(max_length=64, db_index=True, default="", db_default="")
    # The page that shows the answer, "" for the question's own page.
    address = models.TextField(blank=True, default="", db_default="")
    # Verdicts and scores of a decision, packed by kept/explanation_bytes.py.
    columns = models.BinaryField(null=True)

    objects = Covered("snapshot", visible_to_creator=True, part="own")

    @property
    def subject(self) -> str:
        """Return the pod ("namespace/name"), the group or the node that it is about, else ""."""
        return str(self.asked.get("pod") or self.asked.get("group") or self.asked.get("node") or "")


class PendingOutcomes(models.Model):
    """The outcomes of a snapshot's pending pods under a revision, computed when the snapshot arrived."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(Revision, on_delete=models.CASCADE, related_name="+")
    # The version of the watermarks that were in force.
    figures = models.CharField(max_length=64)
    # Number of pods.
    asked = models.PositiveIntegerField()
    # Packed by pending/outcomes.py.
    content = models.BinaryField()

    objects = Covered("snapshot", part=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "revision"], name="outcomes_once_a_revision")]
