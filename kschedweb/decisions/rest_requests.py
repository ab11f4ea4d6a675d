"""The common part of REST's answers about decisions: query parameters for snapshot and policy, and their echo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.clusters.selectors import snapshot_named
from kschedweb.decisions import selectors
from kschedweb.decisions.responsibility import Answerer
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from rest_framework.request import Request

    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

POLICY = OpenApiParameter("policy", OpenApiTypes.STR, description="Name of a policy; `default` without one.")
REVISION = OpenApiParameter("revision", OpenApiTypes.INT, description="Number of its revision; the newest without one.")
PARAMETERS = [POLICY, REVISION, SNAPSHOT, AT]


class DecisionSubjectSerializer(serializers.Serializer[Any]):
    # The subject of an answer: see ``DecisionRequest.subject``.

    snapshot = serializers.UUIDField()
    policy = serializers.CharField()
    revision = serializers.IntegerField()


class AnsweredSerializer(DecisionSubjectSerializer):
    # As above, with the release that answers.

    release = serializers.CharField(allow_blank=True, help_text="The kube-scheduler whose answer this is; '' for none.")


class ResponsibleSchedulerSerializer(serializers.Serializer[Any]):
    """The scheduler that answers for a pod, by its `spec.schedulerName`."""

    name = serializers.CharField(source="scheduler_name")
    answered_by = serializers.ChoiceField(
        source="answerer",
        choices=[answerer.value for answerer in Answerer],
        help_text="`policy`: a profile of the policy that was asked about. `live`: that has none, and a live scheduler "
        "of the cluster has this name; the policy and revision that it pins answer. `unknown`: nobody here knows it.",
    )


class ApprovalWaitSerializer(serializers.Serializer[Any]):
    """The question to people about a pod that waits for approval."""

    id = serializers.UUIDField(source="request", help_text="Of the request: see `approvals/{id}/approve/` and `deny/`.")
    pod = serializers.CharField()
    node = serializers.CharField(help_text="Where the pod is held.")
    asked_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    missing = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many still have to approve, by role."
    )
    sentence = serializers.CharField(help_text="The same in words.")
    page = serializers.CharField(source="address", help_text="Where people decide.")


@dataclass(frozen=True)
class DecisionRequest:
    """The snapshot and the revision that the query of a request names."""

    snapshot: Snapshot
    revision: Revision

    @classmethod
    def from_query(
        cls, request: Request, cluster: str, find: Callable[[str, str], Revision] = selectors.revision_asked
    ) -> DecisionRequest:
        """Read the query; ``find`` is for names and numbers of revisions. Raise Http404, NotFound or Unprocessable."""
        snapshot = selectors.snapshot_asked(cluster, snapshot_named(request.query_params))
        return cls(snapshot, revision_of(request, find))

    @property
    def subject(self) -> Json:
        """Return the data of ``DecisionSubjectSerializer``."""
        return {"snapshot": self.snapshot.pk, "policy": self.revision.policy.name, "revision": self.revision.number}


def revision_of(request: Request, find: Callable[[str, str], Revision] = selectors.revision_asked) -> Revision:
    """Return the revision that the query of ``request`` names. Raises as ``find`` does."""
    query = request.query_params
    return find(query.get("policy") or "default", query.get("revision", ""))
