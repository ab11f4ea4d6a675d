"""Plans of moves: what was asked, the plan, and the scenarios in which plans are tried."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.policies.models import Revision


class Question(Inquiry):
    """One objective. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    # An objective, as engine.planning.scenario reads it.
    asked = models.JSONField()
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # The snapshot in words.
    about = models.CharField(max_length=300)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The revision of the scheduler's policy in words.
    policy = models.CharField(max_length=120)
    # The version that answered, with all gates.
    engine = models.CharField(max_length=20_000, blank=True)
    sentence = models.TextField(blank=True)
    # Compressed JSON.
    content = models.BinaryField(null=True)
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
