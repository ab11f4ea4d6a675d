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

    asked = models.JSONField()  # an objective, as engine.planning.scenario reads it
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    about = models.CharField(max_length=300)  # the snapshot in words
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=120)  # the revision of the scheduler's policy in words
    engine = models.CharField(max_length=20_000, blank=True)  # the version that answered, with all gates
    sentence = models.TextField(blank=True)
    content = models.BinaryField(null=True)  # JSON, compressed
    offers = models.BooleanField(default=False)  # asked by the site for the overview
    # Of those: {"nodes", "saves", "unit"}, what the overview says; null where there is nothing to say.
    offer = models.JSONField(null=True)

    objects = Covered("snapshot", visible_to_creator=True)


class Trial(models.Model):
    """A scenario in which a plan is tried."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="trials")
    scenario = models.OneToOneField(Scenario, on_delete=models.CASCADE, related_name="+")

    objects = Covered("question")

    class Meta:
        ordering = ("-id",)
