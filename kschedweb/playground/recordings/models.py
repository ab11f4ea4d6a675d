"""What happened to the objects of a connected cluster, recorded as it happened."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.clusters.models import Cluster
from kschedweb.jobs.models import ENDED, Job


class Recording(models.Model):
    """A cluster, watched for a while. What was heard is in its chunks; the counts are of those that are kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="recordings")
    seconds = models.PositiveIntegerField()  # for how long it was asked for
    began_at = models.DateTimeField(null=True)  # a whole second, since objects tell their times so
    kept_at = models.DateTimeField(null=True)  # up to when everything that was heard is kept
    records = models.PositiveIntegerField(default=0)
    nodes = models.PositiveIntegerField(default=0)  # that were there or joined
    pods = models.PositiveIntegerField(default=0)  # that were there or came
    size = models.PositiveBigIntegerField(default=0)  # bytes of text
    notes = models.JSONField(default=list)  # what is missing, or why it ended early
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """As its job's; one whose job was purged has what it has."""
        return self.job.state if self.job else "succeeded"

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        return self.job is None or self.job.state in ENDED

    @property
    def lasted(self) -> float:
        """Seconds of the cluster that are kept."""
        return (self.kept_at - self.began_at).total_seconds() if self.kept_at and self.began_at else 0.0

    @property
    def kib(self) -> int:
        """Size of the text in KiB, rounded up."""
        return -(-self.size // 1024)

    @property
    def file_name(self) -> str:
        began = self.began_at or self.created_at
        return f"{self.cluster.name}-{began:%Y%m%d-%H%M%S}.jsonl"


class Chunk(models.Model):
    """Some lines of a recording, in their order; the last one grows until it is full."""

    recording = models.ForeignKey(Recording, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()  # from 0
    content = models.BinaryField()  # gzipped text in UTF-8; one behind the other they are a gzip file

    class Meta:
        ordering = ("number",)
        constraints = [models.UniqueConstraint(fields=["recording", "number"], name="chunk_number_once_a_recording")]
