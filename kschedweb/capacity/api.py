"""REST: how many pods fit, how many nodes are needed, and drain rehearsals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.capacity import services, words
from kschedweb.capacity.questions import (
    MOST_COPIES,
    MOST_DRAINED,
    MOST_NODES,
    MOST_PODS,
    DrainAsked,
    FitAsked,
    NodeAsked,
    NodesAsked,
    PodAsked,
)
from kschedweb.dashboard.rest import validated
from kschedweb.engine.whatif.drain import Options
from kschedweb.errors import ApplicationError
from kschedweb.playground.selectors import profiles_asked, snapshot_asked

if TYPE_CHECKING:
    from rest_framework.request import Request

    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

NAME = 253


class AboutSerializer(serializers.Serializer[Any]):
    """Which cluster, at which time, under which policy."""

    cluster = serializers.SlugField(max_length=63)
    snapshot = serializers.UUIDField(required=False, help_text="The cluster's newest without one.")
    policy = serializers.CharField(max_length=63, default="default", help_text="Name of a policy.")
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="Of the policy; the newest without one."
    )


def _quantities(help_text: str) -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(max_length=30), required=False, default=dict, help_text=help_text
    )


class PodAskedSerializer(serializers.Serializer[Any]):
    """Which pods: say it in one of three ways."""

    workload = serializers.CharField(
        max_length=600,
        required=False,
        default="",
        allow_blank=True,
        help_text="`namespace/Kind/name` of a workload of the snapshot, or `namespace/name` of a pod.",
    )
    manifest = serializers.CharField(
        max_length=32_000,
        required=False,
        default="",
        allow_blank=True,
        help_text="YAML or JSON of a Pod or a workload.",
    )
    requests = _quantities("Such as `{cpu: 500m, memory: 1Gi, nvidia.com/gpu: '1'}`.")


class FitRequestSerializer(AboutSerializer):
    pod = PodAskedSerializer()
    limit = serializers.IntegerField(min_value=1, max_value=MOST_PODS, default=FitAsked.limit, help_text="Pods.")


class ReasonSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    reason = serializers.CharField(help_text="In the scheduler's words.")
    nodes = serializers.IntegerField(help_text="How many nodes this keeps closed.")
    filled = serializers.IntegerField(help_text="How many of them hold some of the pods counted here.")


class AnswerSerializer(serializers.Serializer[Any]):
    snapshot = serializers.UUIDField()
    policy = serializers.CharField()
    revision = serializers.IntegerField()
    answer = serializers.CharField(help_text="One sentence.")


class FitSerializer(AnswerSerializer):
    count = serializers.IntegerField(help_text="Pods that fit.")
    exact = serializers.BooleanField(help_text="Whether one more does not fit; else at least `count` do.")
    stopped = serializers.BooleanField(help_text="Whether the time was over.")
    message = serializers.CharField(help_text="What the scheduler says of the first pod that does not fit.")
    reasons = ReasonSerializer(many=True)
    nodes = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by node, without those with none.")
    notes = serializers.ListField(child=serializers.CharField())


class NodeAskedSerializer(serializers.Serializer[Any]):
    """A type of node: like one of the snapshot, or with these amounts."""

    like = serializers.CharField(max_length=NAME, required=False, default="", allow_blank=True)
    allocatable = _quantities("Such as `{cpu: '32', memory: 128Gi}`; `pods` is 110 where it is not said.")
    labels = serializers.DictField(child=serializers.CharField(max_length=63, allow_blank=True), default=dict)
    zones = serializers.ListField(
        child=serializers.CharField(max_length=63), default=list, max_length=50, help_text="Taken in turn."
    )


class NodesRequestSerializer(AboutSerializer):
    node = NodeAskedSerializer()
    pending = serializers.BooleanField(default=True, help_text="Whether the pods that are pending now shall fit.")
    pod = PodAskedSerializer(required=False)
    copies = serializers.IntegerField(
        min_value=0, max_value=MOST_COPIES, default=0, help_text="How many more pods like `pod` shall fit."
    )
    most = serializers.IntegerField(min_value=1, max_value=MOST_NODES, default=MOST_NODES, help_text="New nodes.")


class UnfitSerializer(serializers.Serializer[Any]):
    pods = serializers.ListField(child=serializers.CharField())
    message = serializers.CharField(help_text="What the scheduler says of all nodes.")
    onNewNode = serializers.CharField(help_text="… and of a new node that holds nothing.")


class NewNodeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    zone = serializers.CharField()
    pods = serializers.IntegerField()
    daemonPods = serializers.IntegerField()
    requested = serializers.DictField(child=serializers.FloatField(), help_text="Share of allocatable, 0 to 1.")


class NodesSerializer(AnswerSerializer):
    pods = serializers.IntegerField()
    fitNow = serializers.IntegerField()
    needed = serializers.IntegerField(allow_null=True, help_text="New nodes; null where `most` are not enough.")
    atLeast = serializers.IntegerField(help_text="What the bare sum of requests asks for.")
    tried = serializers.DictField(child=serializers.IntegerField(), help_text="Pods that do not fit, by new nodes.")
    exceptions = serializers.ListField(
        child=serializers.IntegerField(), help_text="Larger numbers of nodes with which more pods do not fit."
    )
    unfit = UnfitSerializer(many=True, help_text="Pods that no number of such nodes helps.")
    nodes = NewNodeSerializer(many=True)


class DrainRequestSerializer(AboutSerializer):
    nodes = serializers.ListField(
        child=serializers.CharField(max_length=NAME), min_length=1, max_length=MOST_DRAINED, help_text="Names."
    )
    ignoreDaemonsets = serializers.BooleanField(default=True)
    deleteEmptydirData = serializers.BooleanField(default=False)
    force = serializers.BooleanField(default=False)
    keepOrder = serializers.BooleanField(default=False, help_text="Else the nodes that are easiest come first.")


class MoveSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    target = serializers.CharField(help_text="Where its replacement goes; '' where nothing replaces it.")
    wave = serializers.IntegerField()
    budget = serializers.CharField(help_text="The disruption budget that it took from.")


class BlockSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    kind = serializers.CharField()
    message = serializers.CharField(help_text="In the words of kubectl, the API server, or the scheduler.")


class StaysSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    kind = serializers.CharField()


class NodeDrainSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    emptied = serializers.BooleanField()
    waves = serializers.IntegerField()
    moves = MoveSerializer(many=True)
    blocks = BlockSerializer(many=True)
    stays = StaysSerializer(many=True)


class DrainSerializer(AnswerSerializer):
    emptied = serializers.BooleanField()
    nodes = NodeDrainSerializer(many=True, help_text="In the order of the drains.")


class FitView(APIView):
    """How many more pods of a shape fit."""

    action_required = Action.VIEW

    @extend_schema(operation_id="capacity_fit", request=FitRequestSerializer, responses=FitSerializer)
    def post(self, request: Request) -> Response:
        """Place pods one after the other as kube-scheduler would, until none fits; nothing is stored."""
        data, snapshot, revision = _about(FitRequestSerializer, request)
        found = services.fit(snapshot, revision, FitAsked(_pod(data["pod"], required=True), data["limit"]))
        counts = {name: count for name, count in zip(found.names, found.by_node.tolist(), strict=True) if count}
        reasons = [
            {"plugin": one.plugin, "reason": one.text, "nodes": len(one.nodes), "filled": one.filled}
            for one in found.reasons
        ]
        answer = {
            "count": found.count,
            "exact": found.exact,
            "stopped": found.stopped,
            "message": found.message,
            "reasons": reasons,
            "nodes": counts,
            "notes": list(found.notes),
        }
        return _answer(snapshot, revision, words.fit_answer(found), answer)


class NodesView(APIView):
    """How many nodes of a type must be added."""

    action_required = Action.VIEW

    @extend_schema(operation_id="capacity_nodes", request=NodesRequestSerializer, responses=NodesSerializer)
    def post(self, request: Request) -> Response:
        """Add nodes until the pods fit, by trying; 422 where that takes too long."""
        data, snapshot, revision = _about(NodesRequestSerializer, request)
        node = data["node"]
        if bool(node["like"]) == bool(node["allocatable"]):
            raise ApplicationError.at(
                "node", "Say either which node the new ones are like, or what they have room for."
            )
        type_ = NodeAsked(
            node["like"], tuple(node["allocatable"].items()), tuple(node["labels"].items()), tuple(node["zones"])
        )
        pod = _pod(data.get("pod") or {}, required=bool(data["copies"]))
        found = services.nodes(
            snapshot, revision, NodesAsked(type_, data["pending"], pod, data["copies"], data["most"])
        )
        answer = {
            "pods": found.pods,
            "fitNow": found.fits_now,
            "needed": found.needed,
            "atLeast": found.at_least,
            "tried": {str(added): left for added, left in found.tried.items()},
            "exceptions": list(found.exceptions),
            "unfit": [{"pods": list(one.pods), "message": one.message, "onNewNode": one.on_new} for one in found.unfit],
            "nodes": [
                {
                    "name": use.name,
                    "zone": use.zone,
                    "pods": use.pods,
                    "daemonPods": use.daemons,
                    "requested": dict(use.requested),
                }
                for use in found.nodes
            ],
        }
        return _answer(snapshot, revision, words.nodes_answer(found), answer)


class DrainView(APIView):
    """Whether nodes can be emptied."""

    action_required = Action.VIEW

    @extend_schema(operation_id="capacity_drain", request=DrainRequestSerializer, responses=DrainSerializer)
    def post(self, request: Request) -> Response:
        """Rehearse a drain: nothing is evicted in the cluster."""
        data, snapshot, revision = _about(DrainRequestSerializer, request)
        options = Options(data["ignoreDaemonsets"], data["deleteEmptydirData"], data["force"])
        found = services.rehearse(snapshot, revision, DrainAsked(tuple(data["nodes"]), options, data["keepOrder"]))
        nodes = [
            {
                "name": node.name,
                "emptied": node.emptied,
                "waves": node.waves,
                "moves": [
                    {"pod": one.pod, "target": one.target, "wave": one.wave, "budget": one.budget} for one in node.moves
                ],
                "blocks": [{"pod": one.pod, "kind": one.kind, "message": one.message} for one in node.blocks],
                "stays": [{"pod": one.pod, "kind": one.kind} for one in node.stays],
            }
            for node in found.nodes
        ]
        return _answer(snapshot, revision, words.drain_answer(found), {"emptied": found.emptied, "nodes": nodes})


def _about(form: type[AboutSerializer], request: Request) -> tuple[dict[str, Any], Snapshot, Revision]:
    data = validated(form, request.data)
    snapshot = snapshot_asked(data["cluster"], str(data.get("snapshot") or ""))
    return data, snapshot, profiles_asked(data["policy"], str(data.get("revision") or ""))


def _pod(data: dict[str, Any], *, required: bool) -> PodAsked:
    asked = PodAsked(data.get("workload", ""), data.get("manifest", ""), tuple(data.get("requests", {}).items()))
    given = sum(map(bool, (asked.workload, asked.manifest, asked.requests)))
    if given > 1 or (required and not given):
        raise ApplicationError.at("pod", "Say in one way which pods are meant: workload, manifest, or requests.")
    return asked


def _answer(snapshot: Snapshot, revision: Revision, sentence: str, found: dict[str, Any]) -> Response:
    about = {"snapshot": snapshot.pk, "policy": revision.policy.name, "revision": revision.number}
    return Response({**about, "answer": f"{sentence}.", **found})


urlpatterns = [
    path("capacity/fit/", FitView.as_view(), name="capacity-fit"),
    path("capacity/nodes/", NodesView.as_view(), name="capacity-nodes"),
    path("capacity/drain/", DrainView.as_view(), name="capacity-drain"),
]
