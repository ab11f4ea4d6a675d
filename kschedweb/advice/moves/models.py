"""Dry runs of the descheduler that are too slow for a request; a job answers them."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class Question(Inquiry):
    """One dry run. Its answer, ``content`` and ``sentence``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    # The fields of requests.DryRunRequest.
    asked = models.JSONField()
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # The snapshot in words.
    about = models.CharField(max_length=300)
    revision = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # The revision of the scheduler's policy in words.
    policy = models.CharField(max_length=120)
    # The version that answered, with all gates.
    engine = models.CharField(max_length=20_000, blank=True)
    sentence = models.TextField(blank=True)
    # Compressed JSON.
    content = models.BinaryField(null=True)

    objects = Covered("snapshot", visible_to_creator=True)
