"""Plans of moves: what was asked, the plan, and the scenarios in which plans are tried."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.decisions.snapshot_inquiries import SnapshotInquiry
from kschedweb.playground.scenarios.models import Scenario


class Question(SnapshotInquiry):
    """One objective. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    # An objective, as engine.planning.scenario reads it.
    asked = models.JSONField()
    # The version that answered, with all gates.
    engine = models.CharField(max_length=20_000, blank=True)
    # True if the site asked by itself, for the overview.
    offers = models.BooleanField(default=False)
    # For those: {"nodes", "saves", "unit"} of the sentence on the overview; null if no node could go.
    offer = models.JSONField(null=True)

    objects = Covered("snapshot", visible_to_creator=True)


class Trial(models.Model):
    """A scenario in which a plan is tried."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="trials")
    scenario = models.OneToOneField(Scenario, on_delete=models.CASCADE, related_name="+")

    objects = Covered("question")

    class Meta:
        ordering = ("-id",)
