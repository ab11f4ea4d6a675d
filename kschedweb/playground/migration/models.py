"""Questions on which pods would move from a classic policy to a profile, with their answers."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class Question(Inquiry):
    """A question about a migration. Its answer, ``counts`` and ``content``, never changes.

    Labels remain when the objects that they name are deleted.
    """

    classic = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    classic_label = models.CharField(max_length=120)
    # True if the classic policy is compared with its own conversion.
    converted = models.BooleanField()
    # None for a conversion, and after the policy was deleted.
    profile = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    profile_label = models.CharField(max_length=120)
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # Label of the snapshot.
    about = models.CharField(max_length=300)
    # True if bound pods are compared, too.
    bound = models.BooleanField(default=False)
    # Names of namespaces; empty for all.
    namespaces = models.JSONField(default=list)
    # True if each pending pod is placed before the next.
    sequence = models.BooleanField(default=False)
    # engine.releases.classic.comparing.MoveTally as plain data; None until the answer is known.
    counts = models.JSONField(null=True)
    # Gzipped JSON of the pods that differ, which selectors.differing_pods reads.
    content = models.BinaryField(null=True)
    # Sentences about what was left out or read differently.
    notes = models.JSONField(default=list)

    objects = Covered("snapshot", visible_to_creator=True)
