"""What a policy thought of where another scheduler put pods. Written by the process that hosts the shadow."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.engine.cycle.judgement import Agreement
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies.models import Revision


class VerdictChoice(models.TextChoices):
    AGREE = Agreement.AGREE.value, "Agree"
    DIFFER = Agreement.DIFFER.value, "Differ"
    INFEASIBLE = Agreement.INFEASIBLE.value, "Infeasible here"
    WOULD_PLACE = Agreement.WOULD_PLACE.value, "Would be placed here"
    FAILED = Agreement.FAILED.value, "Failed here"


class ShadowVerdict(models.Model):
    """One pod that another scheduler placed, or could not place. ``id`` follows from what it says: rows.py.

    ``rank`` and ``difference`` (points of the total) are null where their node has no total here. ``plugin`` explains
    most of the difference, or rejects their node. ``late`` where the cluster had gone on before the pod was judged.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="shadow_verdicts")
    at = models.DateTimeField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    verdict = models.CharField(max_length=16, choices=VerdictChoice.choices)
    node = models.CharField(max_length=253, blank=True)  # theirs; "" where they found none
    said = models.TextField(blank=True)  # their message, where they found none
    best = models.JSONField(default=list)  # names of the best nodes here, at most five
    ties = models.PositiveIntegerField(default=0)  # how many nodes share the highest total
    feasible = models.PositiveIntegerField(default=0)  # nodes
    rank = models.PositiveIntegerField(null=True)
    difference = models.BigIntegerField(null=True)
    plugin = models.CharField(max_length=253, blank=True)
    differences = models.JSONField(default=dict)  # {plugin: weighted points}, negative for what prefers their node
    message = models.TextField(blank=True)  # as the scheduler words it: why their node, or every node, is rejected
    late = models.BooleanField(default=False)
    # The version of kschedweb and the kube-scheduler it judged as, with all gates; "": nobody noted it.
    engine = models.CharField(max_length=20_000, blank=True, default="", db_default="")
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")

    objects = Covered("scheduler")

    class Meta:
        ordering = ("-at", "-id")
        indexes = [
            models.Index(fields=["scheduler", "-at", "-id"], name="shadow_newest"),
            models.Index(fields=["scheduler", "verdict", "-at", "-id"], name="shadow_verdict_newest"),
            models.Index(fields=["scheduler", "namespace", "-at", "-id"], name="shadow_by_namespace"),
        ]

    @property
    def pod(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"
