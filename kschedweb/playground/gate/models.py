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


class TargetInquiry(Inquiry):
    """A question about two policies on a cluster: that of ``snapshot``, or of ``revision``.

    Labels remain when the objects that they name are deleted.
    """

    snapshot = models.ForeignKey(Snapshot, null=True, on_delete=models.SET_NULL, related_name="+")
    # Revision of a scenario.
    revision = models.ForeignKey(ScenarioRevision, null=True, on_delete=models.CASCADE, related_name="+")
    # Label of the cluster or scenario.
    about = models.CharField(max_length=300)

    objects = Covered("snapshot", "revision", visible_to_creator=True)

    class Meta(Inquiry.Meta):
        abstract = True

    @property
    def size(self) -> int:
        """The bytes of the cluster's objects; 0 if it has no snapshot."""
        snapshot = self.snapshot if self.revision is None else self.revision.snapshot
        return 0 if snapshot is None else snapshot.size

    @property
    def private(self) -> bool:
        """True if its job is not open to all: a private scenario, or objects that were sent."""
        return self.snapshot is None if self.revision is None else self.revision.scenario.private


class Gate(TargetInquiry):
    """A question to the gate. Its ``verdict`` never changes.

    The cluster may also be that of ``objects_given``. Documents are stored as they were judged.
    """

    # Labels of policy and baseline, such as "default@1".
    policy = models.CharField(max_length=120)
    policy_document = models.TextField()
    # Release and feature gates that run the policy.
    process = models.JSONField(default=dict, db_default={})
    baseline = models.CharField(max_length=120)
    # "" for kube-scheduler's defaults.
    baseline_document = models.TextField(blank=True)
    baseline_process = models.JSONField(default=dict, db_default={})
    # Gzipped JSON of objects that were sent; dropped once the verdict is known.
    objects_given = models.BinaryField(null=True)
    # Pods that are placed: all, or only pending ones.
    place = models.CharField(max_length=16)
    seed = models.PositiveIntegerField()
    # As engine.studies.gate.thresholds reads them.
    thresholds = models.JSONField(default=dict)
    # None until the verdict is known.
    passed = models.BooleanField(null=True)
    # engine.studies.gate.gate.GateVerdict as plain data.
    verdict = models.JSONField(null=True)

    @property
    def policy_title(self) -> str:
        """The policy's name, with the release that runs it if policy and baseline have different ones."""
        return self._titles[0]

    @property
    def baseline_title(self) -> str:
        """The baseline's name, with its release in the same case."""
        return self._titles[1]

    @cached_property
    def _titles(self) -> tuple[str, str]:
        policy = GatePolicy(self.policy, release=release_of_record(self.process))
        return policy_titles(policy, GatePolicy(self.baseline, release=release_of_record(self.baseline_process)))
