"""The price table of a cluster."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Cluster


class PriceSheet(models.Model):
    """The price table of a cluster, as a person wrote it.

    The row stays when the table is deleted, so that no version number comes twice.
    """

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="prices")
    # "" if there is none, or none any more.
    text = models.TextField(blank=True)
    # Counts the changes.
    version = models.PositiveIntegerField(default=0)
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    changed_at = models.DateTimeField(null=True)

    objects = Covered("cluster", part=True)
