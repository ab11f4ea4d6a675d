"""Flight recorders: the switch of each cluster, and what was recorded."""

from __future__ import annotations

import uuid

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Cluster

DAYS, LIMIT_MIB = 7, 4096  # what a new recorder keeps at most


class FlightRecorder(models.Model):
    """Whether a cluster is recorded always, and how much is kept. One process records it: it holds the row."""

    cluster = models.OneToOneField(Cluster, primary_key=True, on_delete=models.CASCADE, related_name="flight_recorder")
    on = models.BooleanField(default=False)
    days = models.PositiveIntegerField(default=DAYS)
    limit_mib = models.PositiveIntegerField(default=LIMIT_MIB)  # of stored bytes
    holder = models.CharField(max_length=300, blank=True, default="")
    held_until = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True, default="")  # why nothing is recorded now

    objects = Covered("cluster", part=True)


class Stretch(models.Model):
    """A time in which everything was seen. Between two stretches is a gap; ``reason`` says why there is one before it.

    Times are microseconds of the epoch, as in the lines. Nothing is known before ``began`` and after ``until``.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="stretches")
    began = models.BigIntegerField()
    until = models.BigIntegerField()
    reason = models.CharField(max_length=500, blank=True)
    missing = models.JSONField(default=list)  # kinds that could not be read

    objects = Covered("cluster", part=True)

    class Meta:
        ordering = ("began", "id")
        indexes = [models.Index(fields=["cluster", "began"])]


class Segment(models.Model):
    """Consecutive lines of a stretch (track.py). A ``full`` one has every object at its time; the last grows."""

    stretch = models.ForeignKey(Stretch, on_delete=models.CASCADE, related_name="segments")
    number = models.PositiveIntegerField()  # from 0 in its stretch
    full = models.BooleanField()
    began = models.BigIntegerField()  # of its first line
    content = models.BinaryField()  # zlib of lines
    stored = models.PositiveBigIntegerField()  # bytes of content

    objects = Covered("stretch", part=True)

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["stretch", "number"], name="segment_number_once_a_stretch")]
