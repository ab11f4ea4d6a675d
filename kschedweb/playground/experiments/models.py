"""Experiments: recorded use replayed under several policies, with the result of each run."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.jobs.models import ENDED, Job


class Recording(models.Model):
    """An uploaded recording, as gzipped CSV text."""

    name = models.CharField(max_length=63, unique=True)
    content = models.BinaryField()
    # Rows and columns of the recording.
    machines = models.PositiveIntegerField()
    samples = models.PositiveIntegerField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered(visible_to_creator=True)

    class Meta:
        ordering = ("name",)


class Experiment(models.Model):
    """Policies compared on a recording."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # None for the synthetic recording of the site.
    recording = models.ForeignKey(Recording, null=True, on_delete=models.PROTECT, related_name="experiments")
    # Names as services takes them, in the order of the charts.
    policies = models.JSONField()
    # Each policy is run once with each seed.
    seeds = models.JSONField()
    # Settings that differ from the engine's defaults.
    setup = models.JSONField()
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered(visible_to_creator=True)

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def has_ended(self) -> bool:
        """True unless its job waits or runs."""
        return self.job is None or self.job.state in ENDED


class Run(models.Model):
    """One policy with one seed."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="runs")
    policy = models.CharField(max_length=120)
    seed = models.PositiveIntegerField()
    measures = models.JSONField()
    # Seconds between two rows of ``levels``.
    interval = models.FloatField()
    nodes = models.PositiveIntegerField()
    # float32[intervals, nodes] packed by zlib, the percentage of use in the last hour.
    levels = models.BinaryField()
    # Version of the engine that ran it, with all feature gates.
    engine = models.CharField(max_length=20_000, blank=True, db_default="")

    objects = Covered("experiment")

    class Meta:
        ordering = ("pk",)
        constraints = [models.UniqueConstraint(fields=["experiment", "policy", "seed"], name="one_run_of_each")]
