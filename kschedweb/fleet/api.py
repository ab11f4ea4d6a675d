"""REST: many clusters at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.models import ClusterSource
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.studies.measure.spec import Population
from kschedweb.fleet import selectors, services, summaries
from kschedweb.fleet.filters import ORDERINGS, FleetFilter
from kschedweb.fleet.models import FleetTrial
from kschedweb.web.errors import ApplicationError
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest

MOST_FOUND = 200


class FleetReasonSerializer(serializers.Serializer[Any]):
    """A reason why pods are pending under the default policy; a pod counts under each of its reasons."""

    reason = serializers.CharField(source="text")
    pods = serializers.IntegerField()
    clusters = serializers.IntegerField()


class FleetClusterReasonSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField()
    pods = serializers.IntegerField()


class FleetClusterSerializer(serializers.Serializer[Any]):
    """A cluster as read last; `null` is what is not known (yet)."""

    cluster = serializers.CharField(source="name")
    release = serializers.CharField(help_text="The minor release that the cluster runs, or `unknown`.")
    taken_at = serializers.DateTimeField(allow_null=True, help_text="When the cluster was read last.")
    figures_at = serializers.DateTimeField(
        allow_null=True,
        help_text="When it was as the figures say: before `taken_at` while newer ones are worked out.",
    )
    nodes = serializers.IntegerField(allow_null=True)
    pods = serializers.IntegerField(allow_null=True)
    pending = serializers.IntegerField(allow_null=True)
    reasons = FleetClusterReasonSerializer(source="reason_counts", many=True, help_text="The most frequent first.")
    cpu_requested_percent = serializers.FloatField(
        source="requested", allow_null=True, help_text="Of the CPU of nodes that take pods."
    )
    cpu_used_percent = serializers.FloatField(source="used", allow_null=True)
    skew_points = serializers.FloatField(
        source="skew",
        allow_null=True,
        help_text="CPU used on the hottest node minus that on the coldest, in points. "
        f"Compared are {Population.OPEN_NODES}.",
    )
    cost_an_hour = serializers.FloatField(source="hour", allow_null=True, help_text="In `unit`.")
    unit = serializers.CharField(allow_blank=True, help_text="The currency of the price table; empty without one.")


class FleetTotalsSerializer(serializers.Serializer[Any]):
    clusters = serializers.IntegerField()
    nodes = serializers.IntegerField()
    pods = serializers.IntegerField()
    pending = serializers.IntegerField()
    unknown = serializers.IntegerField(help_text="Clusters of which only counts are known yet.")
    stale = serializers.IntegerField(help_text="Clusters whose figures are older than what was read last.")
    hour = serializers.DictField(child=serializers.FloatField(), help_text="What an hour costs, by currency.")


class FleetSerializer(serializers.Serializer[Any]):
    totals = FleetTotalsSerializer()
    reasons = FleetReasonSerializer(many=True)
    clusters = FleetClusterSerializer(many=True)


class FleetView(APIView):
    action_required = Action.VIEW

    @extend_schema(
        operation_id="fleet",
        parameters=[
            OpenApiParameter("search", str, description="Part of the cluster's name."),
            OpenApiParameter("release", str, description="Such as `1.36`; `unknown` for clusters that name none."),
            OpenApiParameter("source", str, enum=ClusterSource.values),
            OpenApiParameter("reason", str, description="Only clusters with pods that are pending for this reason."),
            OpenApiParameter("ordering", str, enum=ORDERINGS, default=selectors.ORDER),
        ],
        responses=FleetSerializer,
    )
    def get(self, request: ApiRequest) -> Response:
        """All clusters with what waits and why, how full and even they are, and what they cost."""
        params = request.query_params
        filters = FleetFilter(params, queryset=selectors.fleet_list())
        if not filters.is_valid():
            name, messages = next(iter(filters.errors.items()))
            raise ApplicationError.at(name, " ".join(messages))
        ordering = params.get("ordering", selectors.ORDER)
        if ordering not in ORDERINGS:
            raise ApplicationError.at("ordering", f"Must be one of {', '.join(ORDERINGS)}.")
        summaries.mark_viewed()
        lines = selectors.list_lines(filters.qs, reason=params.get("reason", ""), ordering=ordering)
        answer = {
            "totals": selectors.compute_totals(lines),
            "reasons": selectors.count_reasons(lines),
            "clusters": lines,
        }
        return Response(FleetSerializer(answer).data)


class FleetHitSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField(source="snapshot.cluster.name")
    namespace = serializers.CharField(default="", help_text="Empty for nodes.")
    name = serializers.CharField()
    node = serializers.CharField(default="", help_text="Where a pod is; empty if it has no node.")


class FleetFoundSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    results = FleetHitSerializer(many=True, help_text=f"At most {MOST_FOUND}, by cluster and name.")


class FleetSearch(APIView):
    action_required = Action.VIEW

    @extend_schema(
        operation_id="fleet_search",
        parameters=[
            OpenApiParameter("q", str, required=True, description="Part of a name; of a pod also `namespace/part`."),
            OpenApiParameter("kind", str, enum=("pods", "nodes"), default="pods"),
        ],
        responses=FleetFoundSerializer,
    )
    def get(self, request: ApiRequest) -> Response:
        """Pods or nodes of all clusters, as read last."""
        words, kind = request.query_params.get("q", "").strip(), request.query_params.get("kind", "pods")
        if not words or "\0" in words:
            raise ApplicationError.at("q", "Give a part of the name that is looked for.")
        if kind not in ("pods", "nodes"):
            raise ApplicationError.at("kind", "Must be one of pods, nodes.")
        rows: Any = selectors.nodes_everywhere(words) if kind == "nodes" else selectors.pods_everywhere(words)
        return Response(FleetFoundSerializer({"total": rows.count(), "results": rows[:MOST_FOUND]}).data)


class FleetTrialSerializer(serializers.ModelSerializer[FleetTrial]):
    """A policy tried in place of another on many clusters."""

    state = serializers.CharField(read_only=True)
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)
    clusters = serializers.ListField(child=serializers.CharField(), read_only=True)
    answers = serializers.ListField(
        child=serializers.DictField(),
        read_only=True,
        help_text="A cluster each, as they become known: `sentence`, pods that get a node, that move, nodes in use, "
        "and `tried`, a tried change with all of it; or `error`.",
    )

    class Meta:
        model = FleetTrial
        fields = (
            "id",
            "policy",
            "instead",
            "clusters",
            "state",
            "job",
            "created_by",
            "created_at",
            "ended_at",
            "answers",
        )
        read_only_fields = fields


class FleetTrialAskSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField(max_length=120, help_text="What schedules the clusters now, `name@revision`.")
    instead = serializers.CharField(max_length=120, help_text="What is tried in its place, `name@revision`.")
    clusters = serializers.ListField(
        child=serializers.CharField(max_length=63), required=False, default=list, max_length=services.MOST_CLUSTERS,
        help_text="All that have been read, where there are none.",
    )  # fmt: skip


class FleetTrials(IdempotencyMixin, generics.ListAPIView[FleetTrial]):
    """The trials on many clusters, newest first."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = FleetTrialSerializer
    queryset = FleetTrial.objects.none()

    def get_queryset(self) -> QuerySet[FleetTrial]:
        return selectors.trial_list()

    @extend_schema(operation_id="fleet_try", request=FleetTrialAskSerializer, responses={202: FleetTrialSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Try one policy in place of another on many clusters; the answers appear one after the other."""
        data = validate_input(FleetTrialAskSerializer, request.data)
        base, changed = (revision_named(data[name], name) for name in ("policy", "instead"))
        question = services.FleetQuestion(base, changed, data["clusters"])
        trial = services.trial_start(user=request.user, question=question)
        location = reverse("api:fleet-trial", args=[trial.pk], request=request)
        return Response(FleetTrialSerializer(trial).data, status=202, headers={"Location": location})


class FleetTrialView(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="fleet_trial", responses=FleetTrialSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One of them, with what is known so far."""
        return Response(FleetTrialSerializer(selectors.trial_get(id)).data)


urlpatterns = [
    path("fleet/", FleetView.as_view(), name="fleet"),
    path("fleet/search/", FleetSearch.as_view(), name="fleet-search"),
    path("fleet/trials/", FleetTrials.as_view(), name="fleet-trials"),
    path("fleet/trials/<uuid:id>/", FleetTrialView.as_view(), name="fleet-trial"),
]
