"""How a live scheduler answers a stock kube-scheduler that asks it as an extender. Change it through services.py."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.live.schedulers.models import LiveScheduler


class Endpoint(models.Model):
    """What kube-scheduler may ask of ``scheduler``, and with which secret. Only the secret's digest is stored."""

    scheduler = models.OneToOneField(LiveScheduler, primary_key=True, on_delete=models.CASCADE, related_name="endpoint")
    digest = models.CharField(max_length=64, blank=True)  # "": no secret was made yet, nobody is answered
    made_at = models.DateTimeField(null=True)  # when the secret was
    # Names of the policy's plugins that decide; none: all of them that kube-scheduler does not have itself.
    plugins = models.JSONField(default=list, blank=True)
    filters = models.BooleanField(default=True)
    prioritizes = models.BooleanField(default=True)
    preempts = models.BooleanField(default=False)
    binds = models.BooleanField(default=False)
    whole_nodes = models.BooleanField(default=False)  # kube-scheduler sends node objects rather than names
    # null: what the plugins weigh together in the policy, so that they count as they would there
    weight = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(1_000_000)]
    )
    timeout = models.PositiveIntegerField(  # seconds that kube-scheduler waits for an answer
        default=5, validators=[MinValueValidator(1), MaxValueValidator(60)]
    )
    ignorable = models.BooleanField(default=True)  # pods are scheduled without it where it does not answer
    authority = models.TextField(blank=True)  # the PEM certificate that signed the site's own, "" for a public one

    objects = Covered("scheduler")
