"""Flight recorders: the switch of each cluster, and the recorded lines."""

from __future__ import annotations

import uuid

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Cluster

# What a new recorder keeps at most.
DAYS, LIMIT_MIB = 7, 4096


class FlightRecorder(models.Model):
    """The recorder of a cluster: whether it is on, and how much it keeps. One process records at a time."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="flight_recorder")
    on = models.BooleanField(default=False)
    days = models.PositiveIntegerField(default=DAYS)
    # MiB of stored bytes.
    limit_mib = models.PositiveIntegerField(default=LIMIT_MIB)
    # The process that records; "" for none. It must renew its hold before ``held_until``.
    holder = models.CharField(max_length=300, blank=True, default="")
    held_until = models.DateTimeField(null=True)
    # Why nothing is recorded now; "" if all is well.
    problem = models.CharField(max_length=500, blank=True, default="")

    objects = Covered("cluster", part=True)


class Stretch(models.Model):
    """A time in which every change was seen. Between two stretches is a gap.

    Times are microseconds of the epoch, as in the lines. Nothing is known before ``began`` and after ``until``.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="stretches")
    began = models.BigIntegerField()
    until = models.BigIntegerField()
    # Why there is a gap before this stretch.
    reason = models.CharField(max_length=500, blank=True)
    # Kinds that could not be read.
    missing = models.JSONField(default=list)

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("began", "id")
        indexes = [models.Index(fields=["cluster", "began"])]


class Segment(models.Model):
    """Consecutive lines of a stretch (track.py)."""

    stretch = models.ForeignKey(Stretch, on_delete=models.CASCADE, related_name="segments")
    # From 0 in its stretch.
    number = models.PositiveIntegerField()
    # True if it has every object as of its time; otherwise it has changes only.
    full = models.BooleanField()
    # Microseconds of its first line.
    began = models.BigIntegerField()
    # Lines, compressed with zlib. The last segment of a stretch grows.
    content = models.BinaryField()
    # Bytes of ``content``.
    stored = models.PositiveBigIntegerField()

    objects = Covered("stretch", part=True)

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["stretch", "number"], name="segment_number_once_a_stretch")]
