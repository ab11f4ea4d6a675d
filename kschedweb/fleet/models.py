"""The summary of each cluster's newest snapshots, and one policy tried on many clusters."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.reach import Reach
from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.policies.models import Revision


class Standing(models.Model):
    """The summary of a cluster when its snapshot was taken, computed once; summaries.py has the keys of ``values``."""

    snapshot = models.OneToOneField(Snapshot, primary_key=True, on_delete=models.CASCADE, related_name="standing")
    values = models.JSONField()

    objects = Covered("snapshot")


def _own_within(reach: Reach) -> models.Q:
    """Return the condition for trials that the user created, and whose clusters the user may all view."""
    created = FleetTrial._base_manager.filter(created_by=reach.user).values_list("pk", "clusters")
    return models.Q(pk__in=[pk for pk, names in created if reach.names.issuperset(names)])


class FleetTrial(Inquiry):
    """A policy tried in place of another on many clusters. Labels remain when revisions are deleted."""

    base = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=120)
    changed = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    instead = models.CharField(max_length=120)
    # Names of the clusters.
    clusters = models.JSONField(default=list)
    # In the order of ``clusters``, one after the other: {"cluster", "tried"} with the id of a TriedChange and its
    # figures, or {"cluster", "error"}.
    answers = models.JSONField(default=list)

    objects = Covered(rule=_own_within)
