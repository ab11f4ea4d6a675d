"""Questions about what an autoscaler would do that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class Question(Inquiry):
    """What Karpenter or cluster-autoscaler would do with a snapshot. Its answer, ``content`` and ``sentence``, never
    changes.

    cluster-autoscaler is asked where there are ``groups``, the document of its node groups. ``revision`` is that of
    Karpenter's NodePools, ``None`` for the ready ones. Labels remain when what they name is deleted.
    """

    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    about = models.CharField(max_length=300)  # the snapshot in words
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=120)  # the NodePools in words
    ready = models.BooleanField(default=False, db_default=False)  # whether they are the ready ones
    groups = models.TextField(blank=True, db_default="")
    pool = models.CharField(max_length=253, blank=True, db_default="")  # of which nodes without a NodePool count
    sentence = models.TextField(blank=True)
    content = models.BinaryField(null=True)  # selectors.answer_of reads it

    objects = Covered("snapshot", visible_to_creator=True)
