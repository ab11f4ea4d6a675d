"""Verdicts of a policy on another scheduler's decisions. Written by the process that hosts the shadow."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.engine.cycle.judgement import Agreement
from kschedweb.live.schedulers.models import LiveScheduler
from kschedweb.policies.models import Revision
from kschedweb.web.translating import gettext_lazy as _


class VerdictChoice(models.TextChoices):
    AGREE = Agreement.AGREE.value, _("Agree")
    DIFFER = Agreement.DIFFER.value, _("Differ")
    INFEASIBLE = Agreement.INFEASIBLE.value, _("Infeasible here")
    WOULD_PLACE = Agreement.WOULD_PLACE.value, _("Would be placed here")
    FAILED = Agreement.FAILED.value, _("Failed here")


class ShadowVerdict(models.Model):
    """One pod that another scheduler placed, or could not place. ``id`` follows from its content: rows.py."""

    id = models.UUIDField(primary_key=True, editable=False)
    scheduler = models.ForeignKey(LiveScheduler, on_delete=models.CASCADE, related_name="shadow_verdicts")
    at = models.DateTimeField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    uid = models.CharField(max_length=64)
    verdict = models.CharField(max_length=16, choices=VerdictChoice.choices)
    # The other scheduler's node, "" if it found none.
    node = models.CharField(max_length=253, blank=True)
    # The other scheduler's message, if it found no node.
    said = models.TextField(blank=True)
    # Names of the best nodes here, at most five.
    best = models.JSONField(default=list)
    # Number of nodes that share the highest total.
    ties = models.PositiveIntegerField(default=0)
    # Number of nodes.
    feasible = models.PositiveIntegerField(default=0)
    # The place of their node by total, and its points below the best; both null if it has no total here.
    rank = models.PositiveIntegerField(null=True)
    difference = models.BigIntegerField(null=True)
    # The plugin that explains most of the difference, or that rejects their node.
    plugin = models.CharField(max_length=253, blank=True)
    # {plugin: weighted points}, negative for plugins that prefer their node.
    differences = models.JSONField(default=dict)
    # In the scheduler's words: why their node, or every node, is rejected.
    message = models.TextField(blank=True)
    # True if the cluster had changed before the pod was judged.
    late = models.BooleanField(default=False)
    # The version of kschedweb and the kube-scheduler it judged as, with all gates; "" on rows of old releases.
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
        """Return ``namespace/name``."""
        return f"{self.namespace}/{self.name}"
