"""Gates: a policy held against a baseline on one cluster, with the verdict."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Job
from kschedweb.scenarios.models import ScenarioRevision


class Gate(models.Model):
    """One question; ``verdict`` is there once it is known, and never changes.

    It is about ``snapshot``, ``revision`` (of a scenario), or ``objects_given`` (gzipped JSON, dropped once the verdict
    is known). ``policy`` and ``baseline`` are what they are called; their documents are kept as they were judged, of a
    baseline "" for kube-scheduler's defaults.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    policy = models.CharField(max_length=120)
    policy_document = models.TextField()
    baseline = models.CharField(max_length=120)
    baseline_document = models.TextField(blank=True)
    about = models.CharField(max_length=300)  # the cluster or scenario in words
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    revision = models.ForeignKey(ScenarioRevision, null=True, on_delete=models.CASCADE, related_name="+")
    objects_given = models.BinaryField(null=True)
    place = models.CharField(max_length=16)
    seed = models.PositiveIntegerField()
    thresholds = models.JSONField(default=dict)  # as engine.whatif.thresholds reads them
    passed = models.BooleanField(null=True)
    verdict = models.JSONField(null=True)  # engine.whatif.gate.Verdict as plain data
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """As a job's."""
        if self.ended_at:
            return "succeeded"
        return self.job.state if self.job else "failed"
