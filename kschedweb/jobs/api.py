"""REST: jobs, how far they are, and stopping them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.permissions import require_owner
from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.jobs import selectors, services
from kschedweb.jobs.filters import JobFilter
from kschedweb.jobs.models import Job
from kschedweb.web.rest import IdempotencyMixin

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest


class JobSerializer(serializers.ModelSerializer[Job]):
    """A piece of background work; ``total`` 0 means that the amount is not known yet.

    ``place`` is a waiting job's place in the turn, which goes over people; 1 is taken next. ``undelivered`` says that
    the message broker could not be reached: the job is kept, and starts by itself once it is back.
    """

    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)
    result = serializers.DictField(read_only=True)
    place = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = Job
        fields = (
            "id",
            "kind",
            "title",
            "state",
            "place",
            "undelivered",
            "step",
            "done",
            "total",
            "seconds_left",
            "result",
            "error",
            "cancel_requested",
            "attempt",
            "created_by",
            "created_at",
            "started_at",
            "ended_at",
        )
        read_only_fields = fields

    def to_representation(self, instance: Job) -> Json:
        request = self.context.get("request")
        representation: Json = super().to_representation(
            selectors.redact_job(request.user, instance) if request else instance
        )
        return representation


class JobList(generics.ListAPIView[Job]):
    """The jobs, newest first."""

    action_required = Action.VIEW
    serializer_class = JobSerializer
    filterset_class = JobFilter

    def get_queryset(self) -> QuerySet[Job]:
        return selectors.job_list()

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or ()
        return self.get_paginated_response(self.get_serializer(selectors.with_places(page), many=True).data)


class JobDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=JobSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One job; ask again until `state` is `succeeded`, `failed` or `cancelled`."""
        (job,) = selectors.with_places([selectors.job_get(id)])
        return Response(JobSerializer(job, context={"request": request}).data)


class LimitsSerializer(serializers.Serializer[selectors.UserJobLimits]):
    """Limits of the caller's jobs: how many run, wait and may, and what one job may take of memory and time."""

    running = serializers.IntegerField()
    running_most = serializers.IntegerField()
    waiting = serializers.IntegerField()
    waiting_most = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    seconds = serializers.IntegerField()


class JobLimits(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=LimitsSerializer)
    def get(self, request: ApiRequest) -> Response:
        """The limits of the caller's jobs; a job beyond `waiting_most` is refused with 409."""
        return Response(LimitsSerializer(selectors.compute_limits(request.user)).data)


class JobCancel(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses={202: JobSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Ask the job to stop: at once if it waits, at its next step if it runs; 409 if it has ended."""
        job = require_owner(request.user, selectors.job_get(id), "a job", "cancel")
        return Response(JobSerializer(services.job_cancel(job=job, user=request.user)).data, status=202)


urlpatterns = [
    path("jobs/", JobList.as_view(), name="jobs"),
    path("jobs/limits/", JobLimits.as_view(), name="job-limits"),
    path("jobs/<uuid:id>/", JobDetail.as_view(), name="job"),
    path("jobs/<uuid:id>/cancel/", JobCancel.as_view(), name="job-cancel"),
]
