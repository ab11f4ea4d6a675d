"""Recordings of the objects of connected clusters."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Cluster
from kschedweb.jobs.models import ENDED, Job


class Recording(models.Model):
    """A recording of a cluster. Its records are in chunks; the counts are of stored records."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="recordings")
    # Requested duration.
    seconds = models.PositiveIntegerField()
    # A whole second, like the times of objects; None until the first attempt begins.
    began_at = models.DateTimeField(null=True)
    # Everything up to this time is stored.
    kept_at = models.DateTimeField(null=True)
    # Lines of all chunks.
    records = models.PositiveIntegerField(default=0)
    # All nodes that ever existed.
    nodes = models.PositiveIntegerField(default=0)
    # All pods that ever existed.
    pods = models.PositiveIntegerField(default=0)
    # Bytes of text before compression.
    size = models.PositiveBigIntegerField(default=0)
    # Sentences about gaps, or on why it ended early.
    notes = models.JSONField(default=list)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = Covered("cluster")

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """The state of its job; a recording without a job has succeeded."""
        return self.job.state if self.job else "succeeded"

    @property
    def ended(self) -> bool:
        """True if the recording has ended."""
        return self.job is None or self.job.state in ENDED

    @property
    def lasted(self) -> float:
        """The recorded time in seconds."""
        return (self.kept_at - self.began_at).total_seconds() if self.kept_at and self.began_at else 0.0

    @property
    def kib(self) -> int:
        """The size of the text in KiB, rounded up."""
        return -(-self.size // 1024)

    @property
    def file_name(self) -> str:
        start = self.began_at or self.created_at
        return f"{self.cluster.name}-{start:%Y%m%d-%H%M%S}.jsonl"


class Chunk(models.Model):
    """Consecutive lines of a recording; the last chunk grows until it is full."""

    recording = models.ForeignKey(Recording, on_delete=models.CASCADE, related_name="chunks")
    # From 0.
    number = models.PositiveIntegerField()
    # Gzipped text in UTF-8; concatenated chunks are a gzip file.
    content = models.BinaryField()

    objects = Covered("recording")

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["recording", "number"], name="chunk_number_once_a_recording")]
