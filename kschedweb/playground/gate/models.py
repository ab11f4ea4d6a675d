"""Gates: a policy judged against a baseline on one cluster, with the verdict."""

from __future__ import annotations

from functools import cached_property

from django.db import models

from kschedweb.accounts.row_access import Covered
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.studies.gate.gate import GatePolicy, policy_titles
from kschedweb.jobs.models import Inquiry
from kschedweb.playground.scenarios.models import ScenarioRevision
from kschedweb.policies.validation import release_of_record


class Gate(Inquiry):
    """One question. Its ``verdict`` never changes.

    The cluster is ``snapshot``, ``revision`` (of a scenario), or ``objects_given`` (gzipped JSON, dropped once the
    verdict is known). ``policy`` and ``baseline`` are names. Their documents are stored as judged; the document of a
    baseline is "" for kube-scheduler's defaults.
    """

    policy = models.CharField(max_length=120)
    policy_document = models.TextField()
    process = models.JSONField(default=dict, db_default={})  # the policy's release and feature gates
    baseline = models.CharField(max_length=120)
    baseline_document = models.TextField(blank=True)
    baseline_process = models.JSONField(default=dict, db_default={})
    about = models.CharField(max_length=300)  # the cluster or scenario in words
    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    revision = models.ForeignKey(ScenarioRevision, null=True, on_delete=models.CASCADE, related_name="+")
    objects_given = models.BinaryField(null=True)
    place = models.CharField(max_length=16)
    seed = models.PositiveIntegerField()
    thresholds = models.JSONField(default=dict)  # as engine.studies.gate.thresholds reads them
    passed = models.BooleanField(null=True)
    verdict = models.JSONField(null=True)  # engine.studies.gate.gate.GateVerdict as plain data

    objects = Covered("snapshot", "revision", visible_to_creator=True)

    @property
    def policy_title(self) -> str:
        """The policy's name, with the release that runs it where that is not clear."""
        return self._titles[0]

    @property
    def baseline_title(self) -> str:
        """As ``policy_title``, of the baseline."""
        return self._titles[1]

    @cached_property
    def _titles(self) -> tuple[str, str]:
        policy = GatePolicy(self.policy, release=release_of_record(self.process))
        return policy_titles(policy, GatePolicy(self.baseline, release=release_of_record(self.baseline_process)))
