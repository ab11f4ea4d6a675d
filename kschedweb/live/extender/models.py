"""The endpoint by which a live scheduler answers a stock kube-scheduler. Change it through services.py."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.live.schedulers.models import LiveScheduler


class Endpoint(models.Model):
    """The calls that kube-scheduler may make to ``scheduler``, and their secret. Only the secret's digest is stored."""

    scheduler = models.OneToOneField(LiveScheduler, primary_key=True, on_delete=models.CASCADE, related_name="endpoint")
    # "" as long as no secret was made: nobody is answered then.
    digest = models.CharField(max_length=64, blank=True)
    # When the secret was made.
    made_at = models.DateTimeField(null=True)
    # Names of the policy's plugins that decide; empty for all that kube-scheduler does not have itself.
    plugins = models.JSONField(default=list, blank=True)
    filters = models.BooleanField(default=True)
    prioritizes = models.BooleanField(default=True)
    preempts = models.BooleanField(default=False)
    binds = models.BooleanField(default=False)
    # True if kube-scheduler sends node objects rather than names.
    whole_nodes = models.BooleanField(default=False)
    # null for the plugins' weights in the policy together, so that they count as they would there.
    weight = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(1_000_000)]
    )
    # Seconds that kube-scheduler waits for an answer.
    timeout = models.PositiveIntegerField(default=5, validators=[MinValueValidator(1), MaxValueValidator(60)])
    # True if kube-scheduler schedules pods without an answer.
    ignorable = models.BooleanField(default=True)
    # The PEM certificate that signed the site's own, "" for a public authority.
    authority = models.TextField(blank=True)

    objects = Covered("scheduler")
