"""Sweeps: a scenario played under many policies that differ in weights and arguments, each of them a trial."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.jobs.models import Job
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.policies.models import Revision
from kschedweb.web.translating import gettext_lazy as _


class Method(models.TextChoices):
    GRID = "grid", _("Grid: every combination")
    TPE = "tpe", _("Optuna, TPE: learns where good values lie")
    NSGA2 = "nsga2", _("Optuna, NSGA-II: breeds a front of several objectives")


class TrialState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    RUNNING = "running", _("Running")
    FINISHED = "done", _("Done")
    FAILED = "failed", _("Failed")


class Origin(models.TextChoices):
    BASE = "base", _("the base policy")
    ALONE = "alone", _("one at a time")
    SEARCH = "search", _("search")


class Sweep(models.Model):
    """A search around a policy. Its progress follows from its trials."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=200)
    revision = models.ForeignKey(ScenarioRevision, on_delete=models.PROTECT, related_name="sweeps")
    policy = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # Name of the base policy, such as "default@1"; it outlives the policy.
    label = models.CharField(max_length=120)
    # Document of the base policy when the sweep began.
    configuration = models.TextField()
    # Start options of the base policy's kube-scheduler, in the form that runs have them.
    process = models.JSONField(default=dict, db_default={})
    # Dimensions as engine.studies.search.space reads them.
    space = models.JSONField()
    # [{"measure": "skew_cpu", "direction": "lower"}]; the first one orders the tables.
    objectives = models.JSONField()
    method = models.CharField(max_length=8, choices=Method.choices)
    # Number of trials; for a grid, the number of its points.
    planned = models.PositiveIntegerField()
    # Seeds of the scenario; a trial plays it once with each.
    seeds = models.JSONField()
    # Seed of the search.
    seed = models.PositiveIntegerField()
    # Measures without values, from the trial of the base policy.
    measures = models.JSONField(default=list)
    # Version of the engine that ran the trial of the base policy.
    engine = models.CharField(max_length=20_000, blank=True)
    # Number of the current message to the workers; a worker drops messages with an older one.
    turn = models.PositiveIntegerField(default=0)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("revision")

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """The state of its job; a sweep without a job has succeeded."""
        return self.job.state if self.job else "succeeded"


class Trial(models.Model):
    """One point of the space. The worker that runs it holds a claim, which expires if the worker falls silent."""

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="trials")
    # 0 is the base policy.
    number = models.PositiveIntegerField()
    origin = models.CharField(max_length=8, choices=Origin.choices)
    # A value for each dimension of the space, in its order.
    point = models.JSONField()
    state = models.CharField(max_length=8, choices=TrialState.choices, default=TrialState.WAITING)
    # Incremented by each claim; a worker with an older attempt must not change the row.
    attempt = models.PositiveSmallIntegerField(default=0)
    # When the claim expires, and another worker may take the trial.
    claimed_until = models.DateTimeField(null=True)
    # Name of the worker.
    worker = models.CharField(max_length=120, blank=True)
    # Values by measure, one for each seed of the sweep.
    values = models.JSONField(default=dict)
    # Gzipped JSON with the node of each pod by seed; only the trial of the base policy has it.
    places = models.BinaryField(null=True)
    # Attributes that Optuna's sampler stores with the trial.
    notes = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    # Duration of the trial.
    seconds = models.FloatField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = Covered("sweep")

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["sweep", "number"], name="trial_number_once_a_sweep")]
        indexes = [models.Index(fields=["sweep", "state"])]
