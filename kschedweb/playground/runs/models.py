"""Runs: a scenario played under one policy with one seed. Comparisons: several runs side by side."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.jobs.models import Job
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.policies.models import Revision


class Comparison(models.Model):
    """Policies on one revision of a scenario; the others are compared with the first one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=200)
    revision = models.ForeignKey(ScenarioRevision, on_delete=models.PROTECT, related_name="comparisons")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("revision")

    class Meta:
        ordering = ("-created_at", "-id")


class Run(models.Model):
    """One policy with one seed. The outcome never changes once ``ended_at`` is set."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    comparison = models.ForeignKey(Comparison, null=True, on_delete=models.CASCADE, related_name="runs")
    # Position of its policy in the comparison; 0 is the reference.
    position = models.PositiveSmallIntegerField(default=0)
    revision = models.ForeignKey(ScenarioRevision, on_delete=models.PROTECT, related_name="runs")
    policy = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="runs")
    # Name of the policy, such as "default@1"; it remains when the policy is deleted.
    label = models.CharField(max_length=160)
    # Document of the policy when it was run.
    configuration = models.TextField()
    # Its kube-scheduler's start options: the release and feature gates.
    process = models.JSONField(default=dict, db_default={})
    # A document of kind Karpenter in place of the scenario's autoscaler; "" for that one.
    autoscaler = models.TextField(blank=True, db_default="")
    # A DeschedulerPolicy in place of the scenario's: document, every, name; empty for none, null for the scenario's.
    descheduler = models.JSONField(null=True)
    # Settings of quota queues by their paths, instead of the scenario's; null for the scenario's.
    queues = models.JSONField(null=True)
    seed = models.PositiveIntegerField()
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    # Version of the engine that played it, with all feature gates.
    engine = models.CharField(max_length=20_000, blank=True)
    # Measures in their order, as RunMeasure has them.
    summary = models.JSONField(default=list)
    # Sentences about what was left out or read differently.
    notes = models.JSONField(default=list)
    # Packed by engine.studies.play.packing.
    outcome = models.BinaryField(null=True)
    # dashboard.grouping.Grouping of the outcome's nodes, in their order.
    groups = models.JSONField(default=list)
    # Time in the simulation at its end.
    virtual_seconds = models.FloatField(null=True)
    # Real time that the run took.
    seconds = models.FloatField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("revision")

    class Meta:
        ordering = ("-created_at", "position", "seed", "id")
        constraints = [
            models.UniqueConstraint(fields=["comparison", "position", "seed"], name="one_run_of_each_in_a_comparison")
        ]

    @property
    def state(self) -> str:
        """The state of its job; succeeded once ``ended_at`` is set."""
        if self.ended_at:
            return "succeeded"
        return self.job.state if self.job else "failed"


class Difference(models.Model):
    """The difference of a run from the reference's run with the same seed; empty until the job is done."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="difference")
    against = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    # Gzipped JSON, which selectors.load_difference reads.
    content = models.BinaryField(null=True)
    # Numbers of pods: moved, newly unscheduled, newly scheduled, and moved by plugin.
    counts = models.JSONField(default=dict)

    objects = Covered("run")
