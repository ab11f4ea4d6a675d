"""Which pods would move from a classic policy to a profile: questions and their answers."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Job
from kschedweb.policies.models import Revision


class Question(models.Model):
    """One question; ``counts`` and ``content`` are there once it is answered, and never change.

    ``profile`` is ``None`` where the classic policy is held against what it is converted to. Labels stay when what
    they name is deleted.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    classic = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    classic_label = models.CharField(max_length=120)
    converted = models.BooleanField()
    profile = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    profile_label = models.CharField(max_length=120)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    about = models.CharField(max_length=300)  # the snapshot in words
    bound = models.BooleanField(default=False)  # whether pods on nodes are asked about too
    namespaces = models.JSONField(default=list)  # all where none is named
    sequence = models.BooleanField(default=False)  # whether each is placed before the next
    counts = models.JSONField(null=True)  # engine.classic.comparing.Tally as plain data
    content = models.BinaryField(null=True)  # gzipped JSON of the pods that differ: selectors.differing reads it
    notes = models.JSONField(default=list)  # what was left out or read differently
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at", "-id")

    @property
    def state(self) -> str:
        """As a job's."""
        if self.ended_at:
            return "succeeded"
        return self.job.state if self.job else "failed"
