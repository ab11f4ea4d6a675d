"""Experiments: recorded use replayed under several policies, with the result of each run."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.jobs.models import Job


class Recording(models.Model):
    """An uploaded recording, as gzipped CSV text."""

    name = models.CharField(max_length=63, unique=True)
    content = models.BinaryField()
    machines = models.PositiveIntegerField()
    samples = models.PositiveIntegerField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered(visible_to_creator=True)

    class Meta:
        ordering = ("name",)


class Experiment(models.Model):
    """Policies compared on a recording; ``recording`` is empty for the synthetic one of the site."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    recording = models.ForeignKey(Recording, null=True, on_delete=models.PROTECT, related_name="experiments")
    policies = models.JSONField()  # names as in services.documents, in the order of the figures
    seeds = models.JSONField()
    setup = models.JSONField()  # what differs from the engine's defaults
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered(visible_to_creator=True)

    class Meta:
        ordering = ("-created_at", "-id")


class Run(models.Model):
    """One policy with one seed. ``levels`` is zlib of float32[intervals, nodes], percent in the last hour."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="runs")
    policy = models.CharField(max_length=120)
    seed = models.PositiveIntegerField()
    measures = models.JSONField()
    interval = models.FloatField()  # seconds
    nodes = models.PositiveIntegerField()
    levels = models.BinaryField()
    engine = models.CharField(max_length=20_000, blank=True, db_default="")  # the version that ran it, with all gates

    objects = Covered("experiment")

    class Meta:
        ordering = ("pk",)
        constraints = [models.UniqueConstraint(fields=["experiment", "policy", "seed"], name="one_run_of_each")]
