"""Tried changes: a changed policy beside the current one on a cluster or a scenario, with the result."""

from __future__ import annotations

from django.db import models

from kschedweb.playground.gate.models import TargetInquiry
from kschedweb.policies.models import Revision


class TriedChange(TargetInquiry):
    """A change that was tried. Its answer, ``sentence`` and ``content``, never changes."""

    base = models.ForeignKey(Revision, null=True, on_delete=models.SET_NULL, related_name="+")
    # Label of the base.
    policy = models.CharField(max_length=120)
    # Documents are stored as they were tried.
    base_document = models.TextField()
    # Start options of the kube-scheduler that ran the base.
    base_started = models.JSONField(default=dict)
    document = models.TextField()
    # Start options with which a revision of the changed policy is saved.
    process = models.JSONField(default=dict)
    # Start options of the kube-scheduler that ran the changed policy.
    started = models.JSONField(default=dict)
    # The change in a few words.
    change = models.CharField(max_length=500)
    # A pod whose node the answer tells, as namespace/name; "" for none.
    pod = models.CharField(max_length=320, blank=True)
    sentence = models.TextField(blank=True)
    # The answer, which selectors.answer_of unpacks.
    content = models.BinaryField(null=True)
