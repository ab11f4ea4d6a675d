"""Questions, with answers, of which pods would move from a classic policy to a profile."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class Question(Inquiry):
    """One question. Its answer, ``counts`` and ``content``, never changes.

    ``profile`` is ``None`` if the classic policy is compared with its own conversion. Labels remain when the objects
    that they name are deleted.
    """

    classic = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    classic_label = models.CharField(max_length=120)
    converted = models.BooleanField()
    profile = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    profile_label = models.CharField(max_length=120)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    about = models.CharField(max_length=300)  # the snapshot in words
    bound = models.BooleanField(default=False)  # whether bound pods are compared, too
    namespaces = models.JSONField(default=list)  # all where none is named
    sequence = models.BooleanField(default=False)  # whether each is placed before the next
    counts = models.JSONField(null=True)  # engine.releases.classic.comparing.Tally as plain data
    content = models.BinaryField(null=True)  # gzipped JSON of the pods that differ: selectors.differing reads it
    notes = models.JSONField(default=list)  # what was left out or read differently

    objects = Covered("snapshot", visible_to_creator=True)
