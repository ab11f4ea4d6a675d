"""Requests about autoscaling. Both kinds are answered, stored and shown in the same way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.advice.autoscaling import groups, words
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.autoscaling import advice as karpenter
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling import advice as cluster_autoscaler
from kschedweb.jobs.inquiries import Step, connection_released
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.web.errors import ApplicationError, Unprocessable

if TYPE_CHECKING:
    from kschedweb.advice.autoscaling.models import Question
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision


@dataclass(frozen=True)
class KarpenterRequest:
    """A request about NodePools on a snapshot."""

    snapshot: Snapshot
    # None for the ready NodePools.
    revision: Revision | None
    # The NodePool to which nodes without one count.
    pool: str = ""

    @property
    def cache_key(self) -> tuple[object, ...]:
        return self.snapshot.pk, self.revision.pk if self.revision else 0, self.pool

    @property
    def row_fields(self) -> Json:
        """Return the fields of a question's row."""
        ready, policy = self.revision is None, words.label_policy(self.revision)
        return {"revision": self.revision, "policy": policy, "ready": ready, "pool": self.pool}

    def validate(self) -> None:
        """Raise ApplicationError for a NodePool that does not exist."""
        names = [pool.name for pool in karpenters.karpenter_of(self.revision).pools]
        if self.pool and self.pool not in names:
            raise ApplicationError.at("pool", f"There is no NodePool {self.pool}: there are {', '.join(names[:10])}.")

    def work_out(self, step: Step) -> Json:
        """Compute the answer. Raise ObjectError."""
        pools, objects = karpenters.karpenter_of(self.revision), snapshot_objects(self.snapshot)
        # The computation takes long and needs no database: the connection is free for others.
        connection_released()
        return karpenter.advise_on_cluster(
            karpenter.ProvisioningRequest(pools, objects, self.snapshot.taken_at.timestamp(), self.pool), step
        )

    def render_sentence(self, answer: Json) -> str:
        return words.render_sentence(answer)


@dataclass(frozen=True)
class NodeGroupsRequest:
    """A request about node groups, as a document, on a snapshot."""

    snapshot: Snapshot
    document: str

    @property
    def cache_key(self) -> tuple[object, ...]:
        return self.snapshot.pk, self.document, groups.revision_of_rules().pk, self.snapshot.cluster.server_version

    @property
    def row_fields(self) -> Json:
        """Return the fields of a question's row."""
        return {"groups": self.document, "policy": words.GROUPS_LABEL}

    def validate(self) -> None:
        """Raise NotGroups for a document that cannot be read."""
        groups.groups_read(self.document)

    def work_out(self, step: Step) -> Json:
        """Compute the answer. Raise ObjectError."""
        node_groups, rules = groups.groups_read(self.document), groups.rules_of(self.snapshot)
        objects = snapshot_objects(self.snapshot)
        connection_released()
        engine = rules.release.build_snapshot(objects)
        engine.now = self.snapshot.taken_at.timestamp()
        return cluster_autoscaler.advise_scaling(node_groups, engine, rules, step)

    def render_sentence(self, answer: Json) -> str:
        return groups.render_sentence(answer)


def request_of_question(question: Question) -> KarpenterRequest | NodeGroupsRequest:
    """Return the request of a stored question. Raise Unprocessable if its subject was deleted."""
    if question.snapshot is None or not (question.revision or question.ready or question.groups):
        raise Unprocessable("The snapshot or the policy was deleted before there was an answer.")
    if question.groups:
        return NodeGroupsRequest(question.snapshot, question.groups)
    return KarpenterRequest(question.snapshot, question.revision, question.pool)
