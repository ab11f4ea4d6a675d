"""REST views of tried changes: what a change of a policy does, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions.selectors import revision_asked
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.gate import thresholds
from kschedweb.playground.gate.selectors import missing_error, scenario_of, snapshot_of
from kschedweb.playground.gate.serializers import GateWaitsSerializer
from kschedweb.playground.runs.selectors import comparison_get
from kschedweb.playground.runs.serializers import ComparisonDetailSerializer
from kschedweb.playground.trying import selectors, services
from kschedweb.playground.trying.changes import Content, PolicyEdit, apply_change
from kschedweb.playground.trying.models import TriedChange
from kschedweb.playground.trying.serializers import (
    OUTCOMES,
    PLACE_MODES,
    ChangeCompareSerializer,
    ChangedPodSerializer,
    ChangeJudgeSerializer,
    ChangeSaveSerializer,
    TriedChangeDetailSerializer,
    TriedChangeSerializer,
    TryAskSerializer,
)
from kschedweb.policies.api import RevisionSerializer
from kschedweb.policies.dialects import process_of_text
from kschedweb.policies.files import with_files
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.heavy import heavy
from kschedweb.web.pagination import ListPagination
from kschedweb.web.rest import IdempotencyMixin, accepted_response, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.policies.models import Revision

# Seconds until it makes sense to ask again.
RETRY_AFTER = "2"
POD_FILTERS = [
    OpenApiParameter("of", str, enum=list(PLACE_MODES), description="Only these."),
    OpenApiParameter("what", str, enum=list(OUTCOMES), description="Only these."),
]


@method_decorator(heavy, name="dispatch")
class TryingList(IdempotencyMixin, generics.ListAPIView[TriedChange]):
    """The changes that were tried, newest first, of the last 90 days."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = TriedChangeSerializer
    queryset = TriedChange.objects.none()

    def get_queryset(self) -> QuerySet[TriedChange]:
        return selectors.tried_list(self.request.user)  # type: ignore[arg-type]

    @extend_schema(
        operation_id="change_try",
        request=TryAskSerializer,
        responses={201: TriedChangeDetailSerializer, 202: TriedChangeDetailSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Try a change of a policy on a snapshot or a scenario.

        Where the number of nodes times that of pods is at most 1,000,000, the answer comes at once (201), within 5 s;
        all else answers 202, and a job works it out.
        """
        data = validate_input(TryAskSerializer, request.data)
        base = _get_revision(data["policy"], "policy.name")
        content = _parse_content(base, data["change"])
        if "scenario" in data:
            source = data["scenario"]
            revision = scenario_of(request.user, source["id"], source.get("revision"))
            try_request = services.TryRequest(base, content, revision=revision, pod=data["pod"])
        else:
            source = data["snapshot"]
            snapshot = snapshot_of(source["cluster"], str(source.get("id") or ""))
            try_request = services.TryRequest(base, content, snapshot, pod=data["pod"])
        tried_change = services.change_try(user=request.user, request=try_request)
        body = TriedChangeDetailSerializer(tried_change).data
        if tried_change.content is None:
            answer = accepted_response(request, body, "api:tried", tried_change.pk)
            answer["Retry-After"] = RETRY_AFTER
            return answer
        return Response(
            body, status=201, headers={"Location": reverse("api:tried", args=[tried_change.pk], request=request)}
        )


class TriedChangeView(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="change_tried", responses=TriedChangeDetailSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One tried change, and what it does once that is known."""
        return Response(TriedChangeDetailSerializer(selectors.tried_get(request.user, id)).data)


@extend_schema_view(get=extend_schema(operation_id="change_pods", parameters=POD_FILTERS))
class TriedPods(generics.ListAPIView[Any]):
    """The pods that end elsewhere; none as long as there is no answer."""

    action_required = Action.VIEW
    pagination_class = ListPagination
    serializer_class = ChangedPodSerializer
    queryset = TriedChange.objects.none()

    def get_queryset(self) -> Any:
        tried_change = selectors.tried_get(self.request.user, self.kwargs["id"])  # type: ignore[arg-type]
        params = self.request.query_params
        filters = {"place": params.get("of", ""), "outcome": params.get("what", "")}
        return list(selectors.list_changes(selectors.answer_of(tried_change) or {}, **filters))


class TriedSave(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(operation_id="change_save", request=ChangeSaveSerializer, responses={201: RevisionSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Save the changed policy as the next revision, or as a draft."""
        data = validate_input(ChangeSaveSerializer, request.data)
        tried_change = selectors.tried_get(request.user, id)
        saved = services.change_save(
            user=request.user, tried_change=tried_change, name=data["draft"], comment=data["comment"]
        )
        place = reverse("api:revision", args=[saved.policy.name, saved.number], request=request)
        return Response(RevisionSerializer(saved).data, status=201, headers={"Location": place})


class TriedGate(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(operation_id="change_judge", request=ChangeJudgeSerializer, responses={201: GateWaitsSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Have the gate judge the changed policy against the current one; the verdict is at `Location`."""
        data = validate_input(ChangeJudgeSerializer, request.data)
        try:
            limits = thresholds.read_thresholds(data.get("thresholds"))
        except ScenarioError as error:
            problems = [{"path": problem.path, "message": problem.text[:1000]} for problem in error.problems]
            raise ApplicationError("The input is not valid.", errors=problems) from None  # type: ignore[arg-type]
        gate = services.change_judge(
            user=request.user, tried_change=selectors.tried_get(request.user, id), thresholds=limits
        )
        body = GateWaitsSerializer({"id": gate.pk, "state": gate.state, "job": gate.job_id}).data
        place = reverse("api:gate-verdict", args=[gate.pk], request=request)
        return Response(body, status=201, headers={"Location": place})


class TriedComparison(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(
        operation_id="change_compare", request=ChangeCompareSerializer, responses={202: ComparisonDetailSerializer}
    )
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Run the current and the changed policy over a scenario, and compare them."""
        data = validate_input(ChangeCompareSerializer, request.data)
        reference, tried_change = data.get("scenario"), selectors.tried_get(request.user, id)
        scenario = scenario_of(request.user, reference["id"], reference.get("revision")) if reference else None
        comparison = services.change_compare(user=request.user, tried_change=tried_change, scenario=scenario)
        detail = comparison_get(request.user, comparison.pk)
        return accepted_response(request, ComparisonDetailSerializer(detail).data, "api:comparison", comparison.pk)


def _parse_content(base: Revision, fields: Json) -> Content:
    content = None
    if "document" in fields:
        process = process_of_text(fields["document"]) or with_files(fields["document"], base.process)
        content = Content(fields["document"], process)
    elif "policy" in fields:
        content = Content.from_revision(_get_revision(fields["policy"], "change.policy.name"))
    change = PolicyEdit(content, fields["values"], fields["release"], fields["feature_gates"])
    try:
        return apply_change(base, change)
    except ApplicationError as error:
        # The problem is in a part of the request, whose path is put before it.
        error.errors = [{**problem, "path": f"change.{problem['path']}"} for problem in error.errors]
        raise


def _get_revision(reference: Json, path: str) -> Revision:
    try:
        return revision_asked(reference["name"], str(reference.get("revision") or ""), path)
    except (Http404, NotFound) as error:
        raise missing_error(path, error) from None


urlpatterns = [
    path("trying/", TryingList.as_view(), name="trying"),
    path("trying/<uuid:id>/", TriedChangeView.as_view(), name="tried"),
    path("trying/<uuid:id>/pods/", TriedPods.as_view(), name="tried-pods"),
    path("trying/<uuid:id>/save/", TriedSave.as_view(), name="tried-save"),
    path("trying/<uuid:id>/gate/", TriedGate.as_view(), name="tried-gate"),
    path("trying/<uuid:id>/comparison/", TriedComparison.as_view(), name="tried-comparison"),
]
