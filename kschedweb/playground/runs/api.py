"""REST views of runs and comparisons, and of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from django.urls import reverse as page_address
from django.utils.decorators import method_decorator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.models import Question
from kschedweb.playground.reports.report_file import FORMATS, report_response
from kschedweb.playground.runs import pod_decisions, pod_rows, selectors, services
from kschedweb.playground.runs.autoscaler_rows import ActionList
from kschedweb.playground.runs.comparisons import moved_pods
from kschedweb.playground.runs.descheduling import EvictionList, descheduling_json
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.runs.pod_rows import MoveList, PodList
from kschedweb.playground.runs.queues import JobList, queues_json
from kschedweb.playground.runs.reports.report import comparison_report, run_report
from kschedweb.playground.runs.reports.serializers import RunReportSerializer
from kschedweb.playground.runs.run_policies import NOTHING
from kschedweb.playground.runs.samples import SampleList
from kschedweb.playground.runs.scaling import ScalingList
from kschedweb.playground.runs.serializers import (
    ComparisonDetailSerializer,
    ComparisonSerializer,
    ComparisonStartSerializer,
    MovedSerializer,
    RunDecisionSerializer,
    RunDeedSerializer,
    RunDeschedulerSerializer,
    RunDetailSerializer,
    RunEvictionSerializer,
    RunJobSerializer,
    RunMoveSerializer,
    RunPodSerializer,
    RunQueuesSerializer,
    RunSampleSerializer,
    RunScalingSerializer,
    RunSerializer,
    RunStartSerializer,
)
from kschedweb.web.errors import ApplicationError, NotFound, Unprocessable
from kschedweb.web.heavy import heavy
from kschedweb.web.pagination import ListPagination
from kschedweb.web.rest import IdempotencyMixin, accepted_response, validate_input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from django.db.models import QuerySet
    from django.http.response import HttpResponseBase
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.playground.runs.run_policies import RunPolicy

AT = OpenApiParameter("at", float, description="Seconds in the simulation; the end of the run without it.")


def _ordering_parameter(orders: Sequence[str]) -> OpenApiParameter:
    enum = [f"{way}{name}" for name in orders for way in ("", "-")]
    return OpenApiParameter("ordering", str, enum=enum, description="By which column; a `-` turns it round.")


def _get_ordering(request: Request, orders: Sequence[str]) -> str:
    """Return the requested order; "" for none. Raise ApplicationError for an unknown one."""
    ordering: str = request.query_params.get("ordering", "")
    if ordering and ordering.removeprefix("-") not in orders:
        raise ApplicationError.at("ordering", f"ordering: one of {', '.join(orders)}, or that with a - in front.")
    return ordering


class RunList(generics.ListAPIView[Run]):
    """The runs, newest first."""

    action_required = Action.VIEW
    serializer_class = RunSerializer
    queryset = Run.objects.none()

    def get_queryset(self) -> QuerySet[Run]:
        return selectors.run_list(self.request.user)  # type: ignore[arg-type]


class RunStart(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=RunStartSerializer, responses={202: RunSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Run a scenario under a policy; `job` is the work that does it."""
        values = validate_input(RunStartSerializer, request.data)
        run = services.run_start(
            user=request.user,
            revision=selectors.revision_asked(request.user, str(values["scenario"]), str(values["revision"] or "")),
            policy=values["policy"],
            document=values["document"],
            seed=values["seed"],
            policies_by_label=_get_policies(request, values["like"]),
        )
        return accepted_response(request, RunSerializer(run).data, "api:run", run.pk)


def _get_policies(request: ApiRequest, like: UUID | None) -> Mapping[str, RunPolicy]:
    return NOTHING if like is None else selectors.kept_with(request.user, like)


class RunDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=RunDetailSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One run with its measures, which are there once it is done."""
        return Response(RunDetailSerializer(selectors.run_get(request.user, id)).data)


class _RunRows(generics.ListAPIView[Any]):
    """Rows of a run that is done; 409 before."""

    action_required = Action.VIEW
    pagination_class = ListPagination
    queryset = Run.objects.none()

    def get_outcome(self) -> RunOutcome:
        return selectors.load_outcome(selectors.run_get(self.request.user, self.kwargs["id"]))  # type: ignore[arg-type]

    def get_time(self, end: float) -> float:
        at = self.request.query_params.get("at", "")
        try:
            time = float(at) if at else end
        except ValueError:
            # nan fails the comparison below, as do infinities.
            time = float("nan")
        if not 0 <= time < float("inf"):
            message = "at: must be a number of seconds, 0 or more."
            raise ApplicationError.at("at", message)
        return time


@extend_schema_view(
    get=extend_schema(
        parameters=[
            AT,
            OpenApiParameter("state", str, enum=list(pod_rows.STATES)),
            OpenApiParameter("search", str, description="Part of `namespace/name`."),
            OpenApiParameter("node", str),
            _ordering_parameter(pod_rows.ORDERS),
        ]
    )
)
class RunPods(_RunRows):
    """The pods as they come, at a time."""

    serializer_class = RunPodSerializer

    def get_queryset(self) -> Any:
        outcome = self.get_outcome()
        filters = {name: self.request.query_params.get(name, "") for name in ("state", "search", "node")}
        return PodList(
            outcome, self.get_time(outcome.end), **filters, ordering=_get_ordering(self.request, pod_rows.ORDERS)
        )


@extend_schema_view(
    get=extend_schema(
        parameters=[
            OpenApiParameter(
                "forced",
                bool,
                description="Pods that were preempted or evicted or lost their node, when they were told.",
            )
        ]
    )
)
class RunMoves(_RunRows):
    """Every pod coming to a node or leaving it, in the order in which they did."""

    serializer_class = RunMoveSerializer

    def get_queryset(self) -> Any:
        return MoveList(self.get_outcome(), forced=self.request.query_params.get("forced") == "true")


class RunScalings(_RunRows):
    """Every change of the number of pods that a scaled workload asks for, in order."""

    serializer_class = RunScalingSerializer

    def get_queryset(self) -> Any:
        return ScalingList(self.get_outcome())


class RunAutoscalerActions(_RunRows):
    """The nodes that the autoscaler asked for and deleted, in order."""

    serializer_class = RunDeedSerializer

    def get_queryset(self) -> Any:
        return ActionList(self.get_outcome())


class RunEvictions(_RunRows):
    """The evictions of the descheduler, in order."""

    serializer_class = RunEvictionSerializer

    def get_queryset(self) -> Any:
        return EvictionList(self.get_outcome())


class RunDescheduler(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="run_descheduler", responses=RunDeschedulerSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The rounds of the descheduler, and the policies that undo one another. 409 until the run is done."""
        return Response(descheduling_json(selectors.load_outcome(selectors.run_get(request.user, id))))


class RunQueues(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="run_queues", responses=RunQueuesSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """Time in quota queues, use of quota, and evictions by reason. 409 until the run is done."""
        return Response(queues_json(selectors.load_outcome(selectors.run_get(request.user, id))))


class RunJobs(_RunRows):
    """The jobs in quota queues, in the order of arrival."""

    serializer_class = RunJobSerializer

    def get_queryset(self) -> Any:
        return JobList(self.get_outcome())


class RunSamples(_RunRows):
    """Samples of a run at even distances of time."""

    serializer_class = RunSampleSerializer

    def get_queryset(self) -> Any:
        return SampleList(self.get_outcome())


ATTEMPT = OpenApiParameter("attempt", int, description="The pod's try, from 1; the last without it.")


@method_decorator(heavy, name="dispatch")
class RunDecision(APIView):
    """Explain why a pod of a run went where it went.

    It is worked out anew. Where the run has to be played again for long a job does it: 202, and the answer once the job
    has ended.
    """

    action_required = Action.VIEW

    @extend_schema(
        operation_id="run_decision",
        parameters=[ATTEMPT],
        responses={200: RunDecisionSerializer, 202: DecisionQuestionSerializer},
    )
    def get(self, request: ApiRequest, id: UUID, namespace: str, pod: str) -> Response:
        run, key = selectors.run_get(request.user, id), f"{namespace}/{pod}"
        outcome = selectors.load_outcome(run)
        if key not in outcome.index:
            raise NotFound(f"The run has no pod {key[:300]}.")
        tries = int(outcome.attempts[outcome.index[key]])
        attempt = request.query_params.get("attempt") or str(tries)
        if not (attempt.isascii() and attempt.isdigit() and len(attempt) < 10 and 1 <= int(attempt) <= max(tries, 1)):
            raise Unprocessable.at("attempt", f"The pod was tried {tries} times: enter a number from 1 to {tries}.")
        answer = pod_decisions.decision_sought(
            request.user,
            run,
            key,
            int(attempt),
            lambda presentation, replayed: pod_decisions.decision_json(run, presentation, replayed),
            lambda _, content: content["answer"],
        )
        return respond_accepted(request, answer) if isinstance(answer, Question) else Response(answer)


AS = OpenApiParameter("as", str, enum=list(FORMATS), description="What file; `json` without it.")
REPORT = {
    (200, "application/json"): RunReportSerializer,
    (200, "text/html"): OpenApiTypes.STR,
    (200, "text/csv"): OpenApiTypes.STR,
}


class RunReport(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[AS], responses=REPORT)
    def get(self, request: ApiRequest, id: UUID) -> HttpResponseBase:
        """A run as one file: what was simulated and what not, its measures and figures. 409 until it is done."""
        address = request.build_absolute_uri(page_address("run", args=[id]))
        report = run_report(selectors.run_get(request.user, id), address)
        return report_response(report, request.query_params.get("as", "json"))


class ComparisonReport(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[AS], responses=REPORT)
    def get(self, request: ApiRequest, id: UUID) -> HttpResponseBase:
        """A comparison as one file: what was simulated and what not, what differs, figures. 409 until all ended."""
        address = request.build_absolute_uri(page_address("comparison", args=[id]))
        report = comparison_report(selectors.comparison_get(request.user, id), address)
        return report_response(report, request.query_params.get("as", "json"))


class ComparisonList(generics.ListAPIView[Comparison]):
    """The comparisons, newest first."""

    action_required = Action.VIEW
    serializer_class = ComparisonSerializer
    queryset = Comparison.objects.none()

    def get_queryset(self) -> QuerySet[Comparison]:
        return selectors.comparison_list(self.request.user)  # type: ignore[arg-type]


class ComparisonStart(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=ComparisonStartSerializer, responses={202: ComparisonDetailSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Start a run for every policy and seed; follow `runs` until all have ended."""
        values = validate_input(ComparisonStartSerializer, request.data)
        comparison = services.comparison_start(
            user=request.user,
            revision=selectors.revision_asked(request.user, str(values["scenario"]), str(values["revision"] or "")),
            policies=values["policies"],
            seeds=values["seeds"],
            title=values["title"],
            policies_by_label=_get_policies(request, values["like"]),
        )
        body = ComparisonDetailSerializer(selectors.comparison_get(request.user, comparison.pk)).data
        return accepted_response(request, body, "api:comparison", comparison.pk)


class ComparisonDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=ComparisonDetailSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One comparison: its runs, and every measure by policy and seed as far as it is done."""
        return Response(ComparisonDetailSerializer(selectors.comparison_get(request.user, id)).data)


@extend_schema_view(
    get=extend_schema(
        parameters=[
            OpenApiParameter("other", OpenApiTypes.INT, description="Place of the policy in `policies`, from 1."),
            OpenApiParameter("plugin", str),
            OpenApiParameter("what", str, enum=list(moved_pods.CHANGE_KINDS)),
            OpenApiParameter("search", str, description="Part of `namespace/name`."),
            _ordering_parameter(moved_pods.ORDERS),
        ]
    )
)
class ComparisonMoved(generics.ListAPIView[Any]):
    """The pods that go elsewhere than under the reference."""

    action_required = Action.VIEW
    pagination_class = ListPagination
    serializer_class = MovedSerializer
    queryset = Comparison.objects.none()

    def get_queryset(self) -> Any:
        comparison = selectors.comparison_get(self.request.user, self.kwargs["id"])  # type: ignore[arg-type]
        filters = {name: self.request.query_params.get(name, "") for name in moved_pods.ANY}
        other = self.request.query_params.get("other", "1")
        # No policy has position -1, so the list is empty.
        position = int(other) if other.isascii() and other.isdigit() and len(other) < 3 else -1
        ordering = _get_ordering(self.request, moved_pods.ORDERS)
        return moved_pods.MovedList(list(selectors.difference_list(comparison)), position, filters, ordering)


urlpatterns = [
    path("runs/", RunList.as_view(), name="runs"),
    path("runs/start/", RunStart.as_view(), name="run-start"),
    path("runs/<uuid:id>/", RunDetail.as_view(), name="run"),
    path("runs/<uuid:id>/pods/", RunPods.as_view(), name="run-pods"),
    path("runs/<uuid:id>/pods/<str:namespace>/<str:pod>/decision/", RunDecision.as_view(), name="run-decision"),
    path("runs/<uuid:id>/moves/", RunMoves.as_view(), name="run-moves"),
    path("runs/<uuid:id>/report/", RunReport.as_view(), name="run-report"),
    path("runs/<uuid:id>/deeds/", RunAutoscalerActions.as_view(), name="run-deeds"),
    path("runs/<uuid:id>/descheduler/", RunDescheduler.as_view(), name="run-descheduler"),
    path("runs/<uuid:id>/evictions/", RunEvictions.as_view(), name="run-evictions"),
    path("runs/<uuid:id>/queues/", RunQueues.as_view(), name="run-queues"),
    path("runs/<uuid:id>/jobs/", RunJobs.as_view(), name="run-jobs"),
    path("runs/<uuid:id>/scalings/", RunScalings.as_view(), name="run-scalings"),
    path("runs/<uuid:id>/samples/", RunSamples.as_view(), name="run-samples"),
    path("comparisons/", ComparisonList.as_view(), name="comparisons"),
    path("comparisons/start/", ComparisonStart.as_view(), name="comparison-start"),
    path("comparisons/<uuid:id>/", ComparisonDetail.as_view(), name="comparison"),
    path("comparisons/<uuid:id>/report/", ComparisonReport.as_view(), name="comparison-report"),
    path("comparisons/<uuid:id>/moved/", ComparisonMoved.as_view(), name="comparison-moved"),
]
