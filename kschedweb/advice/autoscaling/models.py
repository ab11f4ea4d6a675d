"""Questions about what an autoscaler would do that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.decisions.snapshot_inquiries import SnapshotInquiry


class Question(SnapshotInquiry):
    """A question about what Karpenter or cluster-autoscaler would do with a snapshot.

    Its answer, ``content`` and ``sentence``, never changes. Labels remain when the objects that they name are deleted.
    """

    # True if they are the ready ones.
    ready = models.BooleanField(default=False, db_default=False)
    # The document of node groups, if the question is about cluster-autoscaler.
    groups = models.TextField(blank=True, db_default="")
    # The NodePool to which nodes without one count.
    pool = models.CharField(max_length=253, blank=True, db_default="")

    objects = Covered("snapshot", visible_to_creator=True)
