"""REST views of capacity: how many pods and gangs fit, how many nodes are needed, and drain rehearsals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions.selectors import revision_asked, snapshot_asked
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.engine.studies.capacity.buffer import LOWEST_PRIORITY
from kschedweb.engine.studies.capacity.drain import Options
from kschedweb.engine.studies.trying.node_change import NodeChange
from kschedweb.playground.capacity import selectors, services
from kschedweb.playground.capacity.buffer_serializers import BufferRequestSerializer, BufferSerializer
from kschedweb.playground.capacity.change_serializers import NodeChangeRequestSerializer, NodeChangeSerializer
from kschedweb.playground.capacity.costs import change_of
from kschedweb.playground.capacity.queries import (
    BufferQuery,
    DrainQuery,
    FitQuery,
    GangsQuery,
    NodesQuery,
    NodeTypeQuery,
    PodQuery,
)
from kschedweb.playground.capacity.serializers import (
    CapacityQuestionSerializer,
    DrainRequestSerializer,
    DrainSerializer,
    FitRequestSerializer,
    FitSerializer,
    GangsRequestSerializer,
    GangsSerializer,
    NodesRequestSerializer,
    NodesSerializer,
    answer_to_json,
)
from kschedweb.web.errors import ApplicationError
from kschedweb.web.rest import IdempotencyMixin, answered_later, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.playground.capacity.queries import CapacityQuery


class _Ask(IdempotencyMixin, APIView):
    """A question about capacity, answered at once or by a job."""

    action_required = Action.VIEW


class FitView(_Ask):
    """Further pods of a shape that fit."""

    # Also for people who may see only some namespaces: the answer names no pods of others.
    in_part = ("POST",)

    @extend_schema(
        operation_id="capacity_fit",
        request=FitRequestSerializer,
        responses={200: FitSerializer, 202: CapacityQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Place pods one after the other as kube-scheduler would, until none fits.

        200 with the answer where it is quick to find; else 202, and a job works it out. 409 while another question of
        the same person is worked on.
        """
        data = validate_input(FitRequestSerializer, request.data)
        return _respond_with_answer(request, data, FitQuery(_parse_pod(data["pod"], required=True), data["limit"]))


class NodesView(_Ask):
    """Nodes of a type that must be added."""

    @extend_schema(
        operation_id="capacity_nodes",
        request=NodesRequestSerializer,
        responses={200: NodesSerializer, 202: CapacityQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Add nodes until the pods fit, by trying; answered as `/capacity/fit/` is."""
        data = validate_input(NodesRequestSerializer, request.data)
        node = data["node"]
        if bool(node["like"]) == bool(node["allocatable"]):
            raise ApplicationError.at(
                "node", "Say either which node the new ones are like, or what they have room for."
            )
        type_ = NodeTypeQuery(
            node["like"], tuple(node["allocatable"].items()), tuple(node["labels"].items()), tuple(node["zones"])
        )
        pod = _parse_pod(data.get("pod") or {}, required=bool(data["copies"]))
        return _respond_with_answer(
            request, data, NodesQuery(type_, data["pending"], pod, data["copies"], data["most"])
        )


class DrainView(_Ask):
    """A rehearsal of emptying nodes."""

    @extend_schema(
        operation_id="capacity_drain",
        request=DrainRequestSerializer,
        responses={200: DrainSerializer, 202: CapacityQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Rehearse a drain: nothing is evicted in the cluster. Answered as `/capacity/fit/` is."""
        data = validate_input(DrainRequestSerializer, request.data)
        options = Options(data["ignore_daemonsets"], data["delete_emptydir_data"], data["force"])
        return _respond_with_answer(request, data, DrainQuery(tuple(data["nodes"]), options, data["keep_order"]))


class BufferView(_Ask):
    """The loss of a zone, or of the largest nodes."""

    @extend_schema(
        operation_id="capacity_buffer",
        request=BufferRequestSerializer,
        responses={200: BufferSerializer, 202: CapacityQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Lose each zone, and the largest nodes, and place their pods anew; answered as `/capacity/fit/` is."""
        data = validate_input(BufferRequestSerializer, request.data)
        if not data["zones"] and not data["largest"]:
            raise ApplicationError.at("zones", "Choose the zones, a number of nodes, or both.")
        # Without a priority every pod counts.
        priority = LOWEST_PRIORITY if data["priority"] is None else data["priority"]
        return _respond_with_answer(request, data, BufferQuery(data["zones"], data["largest"], priority))


class GangsView(_Ask):
    """Further gangs of pods that fit."""

    # As for FitView.
    in_part = ("POST",)

    @extend_schema(
        operation_id="capacity_gangs",
        request=GangsRequestSerializer,
        responses={200: GangsSerializer, 202: CapacityQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Place gang after gang as kube-scheduler would, until one does not fit; answered as `/capacity/fit/` is.

        The feature gates that gangs need are on, whatever the policy says; a policy for an older release is refused.
        """
        data = validate_input(GangsRequestSerializer, request.data)
        pod = _parse_pod(data["pod"], required=True)
        query = GangsQuery(pod, data["pods"], data.get("min_count", 0), data["topology_key"], data["limit"])
        return _respond_with_answer(request, data, query)


class ChangeView(_Ask):
    """The loss of nodes, or new ones."""

    @extend_schema(
        operation_id="capacity_change",
        request=NodeChangeRequestSerializer,
        responses={200: NodeChangeSerializer, 202: CapacityQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Lose nodes, or add copies of one, and tell which pods change their node. Answered as `/capacity/fit/` is.

        Bound pods keep their nodes; controllers replace the pods of lost nodes.
        """
        data = validate_input(NodeChangeRequestSerializer, request.data)
        if not data["lost"] and not data["added"]:
            raise ApplicationError.at("lost", "Name the nodes to lose, or say how many to add.")
        if data["added"] and not data["like"]:
            raise ApplicationError.at("like", "Name the node that new ones are copies of.")
        lost = tuple(dict.fromkeys(data["lost"]))
        if not data["added"]:
            return _respond_with_answer(request, data, NodeChange(lost))
        return _respond_with_answer(request, data, NodeChange(lost, data["like"], data["added"], tuple(data["zones"])))


class CapacityAnswerView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(operation_id="capacity_answer", responses=CapacityQuestionSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The answer of a job; ask again until `state` is `succeeded`, `failed` or `cancelled`. Kept for 90 days."""
        return Response(CapacityQuestionSerializer(selectors.question_get(id)).data)


def _respond_with_answer(request: ApiRequest, data: Json, query: CapacityQuery) -> Response:
    """Return 200 with the answer, or 202 with the question that a job works on."""
    snapshot = snapshot_asked(data["cluster"], str(data.get("snapshot") or ""))
    revision = revision_asked(data["policy"], str(data.get("revision") or ""), "policy")
    user = request.user
    try:
        answer = services.answer_at_once(user=user, snapshot=snapshot, revision=revision, query=query)
    except DeadlineExceeded:
        question = services.question_ask(user=user, snapshot=snapshot, revision=revision, query=query)
        return answered_later(request, CapacityQuestionSerializer(question).data, "api:capacity-answer", question.pk)
    rules, _ = services.rules_of(snapshot, revision, query)
    provenance = {
        "snapshot": snapshot.pk,
        "policy": revision.policy.name,
        "revision": revision.number,
        "engine": rules.release.engine,
    }
    return Response({**provenance, **answer_to_json(answer, change_of(snapshot, query, answer))})


def _parse_pod(data: Json, *, required: bool) -> PodQuery:
    query = PodQuery(data.get("workload", ""), data.get("manifest", ""), tuple(data.get("requests", {}).items()))
    ways = sum(map(bool, (query.workload, query.manifest, query.requests)))
    if ways > 1 or (required and not ways):
        raise ApplicationError.at("pod", "Say in one way which pods are meant: workload, manifest, or requests.")
    return query


urlpatterns = [
    path("capacity/fit/", FitView.as_view(), name="capacity-fit"),
    path("capacity/nodes/", NodesView.as_view(), name="capacity-nodes"),
    path("capacity/drain/", DrainView.as_view(), name="capacity-drain"),
    path("capacity/gangs/", GangsView.as_view(), name="capacity-gangs"),
    path("capacity/buffer/", BufferView.as_view(), name="capacity-buffer"),
    path("capacity/change/", ChangeView.as_view(), name="capacity-change"),
    path("capacity/answers/<uuid:id>/", CapacityAnswerView.as_view(), name="capacity-answer"),
]
