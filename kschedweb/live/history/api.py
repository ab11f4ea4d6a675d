"""REST: the history of a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.flight.rebuilding import moment_read
from kschedweb.clusters.parameters import AT
from kschedweb.clusters.selectors import cluster_get
from kschedweb.decisions.rest_requests import POLICY, REVISION
from kschedweb.decisions.selectors import revision_asked
from kschedweb.engine.json_types import Json
from kschedweb.live.history import builder
from kschedweb.live.history.builder import PlacementAttempt, PodHistory

if TYPE_CHECKING:
    from datetime import datetime

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.engine.live.retrace import RelevantChange


class MatteredSerializer(serializers.Serializer[Any]):
    """A change of the cluster of which plugins that had rejected the pod say that it may help."""

    at = serializers.DateTimeField()
    event = serializers.CharField(help_text="As kube-scheduler names it, such as `NodeAdd`.")
    kind = serializers.CharField()
    object = serializers.CharField(help_text="`namespace/name`, or the name alone.")
    plugins = serializers.ListField(child=serializers.CharField())


class AttemptSerializer(serializers.Serializer[Any]):
    """A try to place the pod. The first of ``mattered`` woke it; where that is empty, ``cause`` says what did."""

    at = serializers.DateTimeField()
    node = serializers.CharField(help_text="Empty where no node was found.")
    message = serializers.CharField(help_text="The scheduler's own words.")
    rejected_by = serializers.ListField(child=serializers.CharField(), help_text="Plugins.")
    evaluated = serializers.IntegerField(help_text="Nodes.")
    feasible = serializers.IntegerField(help_text="Nodes.")
    cause = serializers.CharField(help_text="The event that brought the pod to this try, as kube-scheduler names it.")
    decision = serializers.UUIDField(allow_null=True, help_text="Where a live scheduler kept it.")
    mattered = MatteredSerializer(many=True, help_text="Since the try before; at most 20 of them.")
    mattered_count = serializers.IntegerField(help_text="How many changes mattered.")


class PodMilestoneSerializer(serializers.Serializer[Any]):
    """Something that the cluster says of the pod, or a gap: a time of which nothing is known."""

    at = serializers.DateTimeField()
    what = serializers.ChoiceField(source="kind", choices=[*builder.MILESTONES])
    detail = serializers.CharField(help_text="The node that it was bound to, its gates, the reason of a gap.")
    until = serializers.DateTimeField(source="gap_end", allow_null=True, help_text="When a gap ends.")


class PodHistorySerializer(serializers.Serializer[Any]):
    """The history of one pod, from a flight recorder, oldest first."""

    pod = serializers.CharField()
    uid = serializers.CharField()
    policy = serializers.CharField()
    revision = serializers.IntegerField()
    kept = serializers.BooleanField(
        help_text="Whether the tries are those that live schedulers of this site made. If not, another scheduler "
        "places the pod: they are what the policy answers now, at the moments at which its queue would have tried it."
    )
    since = serializers.DateTimeField()
    until = serializers.DateTimeField(help_text="Up to when it is told: when the pod ran, or what is known ends.")
    group = serializers.CharField(help_text="The group that the pod is placed with: its tries alone are not told.")
    complete = serializers.BooleanField(help_text="False where there were more than 200 tries, or 100,000 changes.")
    milestones = PodMilestoneSerializer(many=True)
    tries = AttemptSerializer(many=True)
    mattered = MatteredSerializer(many=True, help_text="Since the last try; at most 20 of them.")
    mattered_count = serializers.IntegerField(help_text="How many changes mattered since the last try.")


class PodHistoryView(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[POLICY, REVISION, AT], responses=PodHistorySerializer)
    def get(self, request: ApiRequest, name: str, namespace: str, pod: str) -> Response:
        """Explain why a pod was pending and what changed until it ran: the last pod of this name by `at`."""
        params = request.query_params
        revision = revision_asked(params.get("policy", "default"), params.get("revision", ""), "policy")
        at = moment_read(params["at"]) if params.get("at") else None
        history = builder.build_history(cluster_get(name), f"{namespace}/{pod}", revision, at)
        return Response(PodHistorySerializer(_represent_history(history)).data)


def _represent_history(history: PodHistory) -> Json:
    fields = {name: getattr(history, name) for name in ("uid", "kept", "since", "until", "group")}
    fields |= {"pod": history.key, "policy": history.revision.policy.name, "revision": history.revision.number}
    return fields | {
        "complete": history.complete,
        "milestones": history.milestones,
        "tries": [_represent_attempt(attempt) for attempt in history.attempts],
        "mattered": [_represent_change(*change) for change in history.recent_changes],
        "mattered_count": history.recent_change_count,
    }


def _represent_attempt(attempt: PlacementAttempt) -> Json:
    outcome = attempt.outcome
    fields = {
        name: getattr(outcome, name) for name in ("node", "message", "rejected_by", "evaluated", "feasible", "cause")
    }
    fields |= {"at": attempt.at, "decision": attempt.decision.pk if attempt.decision else None}
    return fields | {
        "mattered": [_represent_change(*change) for change in attempt.mattered],
        "mattered_count": outcome.mattered_count,
    }


def _represent_change(at: datetime, change: RelevantChange) -> Json:
    return {"at": at, "event": change.event, "kind": change.kind, "object": change.key, "plugins": change.plugins}


urlpatterns = [
    path("clusters/<slug:name>/history/<str:namespace>/<str:pod>/", PodHistoryView.as_view(), name="pod-history"),
]
