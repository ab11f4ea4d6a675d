"""Tried changes: a changed policy beside the current one on a cluster or a scenario, and what came of it."""

from __future__ import annotations

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.jobs.models import Inquiry
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.policies.models import Revision


class TriedChange(Inquiry):
    """One change that was tried. Its answer, ``sentence`` and ``content``, never changes.

    The cluster is ``snapshot`` or ``revision`` (of a scenario). Labels remain when the objects that they name are
    deleted. Documents are stored as they were tried; ``started`` is what ran them, and ``process`` what a revision of
    the changed policy is saved with.
    """

    base = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    policy = models.CharField(max_length=120)  # the base in words
    base_document = models.TextField()
    base_started = models.JSONField(default=dict)
    document = models.TextField()
    process = models.JSONField(default=dict)
    started = models.JSONField(default=dict)
    change = models.CharField(max_length=500)  # in words
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    revision = models.ForeignKey(ScenarioRevision, null=True, on_delete=models.CASCADE, related_name="+")
    about = models.CharField(max_length=300)  # the cluster or scenario in words
    pod = models.CharField(max_length=320, blank=True)  # of which it is told, "namespace/name"
    sentence = models.TextField(blank=True)
    content = models.BinaryField(null=True)  # selectors.answer_of reads it

    objects = Covered("snapshot", "revision", visible_to_creator=True)
