"""Sweeps: a scenario played under many policies that differ in weights and arguments; a trial is one of them."""

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
    """A search around a policy. Its progress is given by its trials."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    title = models.CharField(max_length=200)
    revision = models.ForeignKey(ScenarioRevision, on_delete=models.PROTECT, related_name="sweeps")
    policy = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    label = models.CharField(max_length=120)  # of the base policy, such as "default@1"; outlives it
    configuration = models.TextField()  # its document at the start
    process = models.JSONField(default=dict, db_default={})  # its kube-scheduler's start options, as those of a run
    space = models.JSONField()  # as engine.studies.search.space reads it
    objectives = models.JSONField()  # [{"measure": "skew_cpu", "direction": "lower"}], the first orders the tables
    method = models.CharField(max_length=8, choices=Method.choices)
    planned = models.PositiveIntegerField()  # trials
    seeds = models.JSONField()  # of the scenario; a trial plays it once with each
    seed = models.PositiveIntegerField()  # of the search
    measures = models.JSONField(default=list)  # measures without values, from the base policy's trial
    engine = models.CharField(max_length=20_000, blank=True)  # the version that ran the base policy's trial
    turn = models.PositiveIntegerField(default=0)  # the number of the current message
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("revision")

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """The state of its job; a sweep without job is done."""
        return self.job.state if self.job else "succeeded"


class Trial(models.Model):
    """One point of the space. The worker that does it holds a claim, which expires if the worker falls silent."""

    sweep = models.ForeignKey(Sweep, on_delete=models.CASCADE, related_name="trials")
    number = models.PositiveIntegerField()  # 0 is the base policy
    origin = models.CharField(max_length=8, choices=Origin.choices)
    point = models.JSONField()  # a value for each dimension
    state = models.CharField(max_length=8, choices=TrialState.choices, default=TrialState.WAITING)
    attempt = models.PositiveSmallIntegerField(default=0)  # a worker with an older attempt must not change the row
    claimed_until = models.DateTimeField(null=True)
    worker = models.CharField(max_length=120, blank=True)  # name of the worker
    values = models.JSONField(default=dict)  # measure -> its value with each seed
    places = models.BinaryField(null=True)  # of the base policy only: gzipped JSON, the node of each pod by seed
    notes = models.JSONField(default=dict)  # notes of the sampler
    error = models.TextField(blank=True)
    seconds = models.FloatField(null=True)  # duration
    ended_at = models.DateTimeField(null=True)

    objects = Covered("sweep")

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["sweep", "number"], name="trial_number_once_a_sweep")]
        indexes = [models.Index(fields=["sweep", "state"])]
