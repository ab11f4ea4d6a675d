"""The model of questions about a snapshot under a revision of a policy."""

from __future__ import annotations

from typing import Any

from django.db import models

from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.inquiries import unpack_answer
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class SnapshotInquiry(Inquiry):
    """A question about a snapshot. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # The snapshot in words.
    about = models.CharField(max_length=300)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The revision in words.
    policy = models.CharField(max_length=120)
    sentence = models.TextField(blank=True)
    # Compressed JSON; None until there is an answer.
    content = models.BinaryField(null=True)

    class Meta(Inquiry.Meta):
        abstract = True

    def read_answer(self) -> Any:
        """Return the stored answer; None if there is none yet."""
        return None if self.content is None else unpack_answer(self.content)
