"""Questions about what an autoscaler would do that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class Question(Inquiry):
    """A question about what Karpenter or cluster-autoscaler would do with a snapshot.

    Its answer, ``content`` and ``sentence``, never changes. Labels remain when the objects that they name are deleted.
    """

    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # The snapshot in words.
    about = models.CharField(max_length=300)
    # The revision of Karpenter's NodePools; null for the ready ones.
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The NodePools in words.
    policy = models.CharField(max_length=120)
    # True if they are the ready ones.
    ready = models.BooleanField(default=False, db_default=False)
    # The document of node groups, if the question is about cluster-autoscaler.
    groups = models.TextField(blank=True, db_default="")
    # The NodePool to which nodes without one count.
    pool = models.CharField(max_length=253, blank=True, db_default="")
    sentence = models.TextField(blank=True)
    # Read by selectors.answer_of.
    content = models.BinaryField(null=True)

    objects = Covered("snapshot", visible_to_creator=True)
