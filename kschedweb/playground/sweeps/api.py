"""REST views of sweeps and their trials, and of saving a trial as a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework import generics
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.permissions import require_owner
from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.playground.runs.selectors import revision_asked
from kschedweb.playground.sweeps import selectors, services
from kschedweb.playground.sweeps.models import Sweep, Trial
from kschedweb.playground.sweeps.serializers import (
    SavedPolicySerializer,
    SavePolicySerializer,
    SweepDetailSerializer,
    SweepSerializer,
    SweepStartSerializer,
    TrialSerializer,
)
from kschedweb.web.heavy import heavy
from kschedweb.web.rest import IdempotencyMixin, accepted_response, validate_input

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest


class SweepList(generics.ListAPIView[Sweep]):
    """The sweeps, newest first."""

    action_required = Action.VIEW
    serializer_class = SweepSerializer
    queryset = Sweep.objects.none()

    def get_queryset(self) -> QuerySet[Sweep]:
        return selectors.sweep_list(self.request.user)  # type: ignore[arg-type]


@method_decorator(heavy, name="dispatch")
class SweepStart(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=SweepStartSerializer, responses={202: SweepSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Start a sweep: any number of workers share its trials. Follow `job` until it has ended."""
        values = validate_input(SweepStartSerializer, request.data)
        scenario, number = str(values.pop("scenario")), str(values.pop("revision") or "")
        values["space"] = _get_space(request.data)
        sweep = services.sweep_start(
            user=request.user, revision=revision_asked(request.user, scenario, number), **values
        )
        body = SweepSerializer(selectors.sweep_get(request.user, sweep.pk)).data
        return accepted_response(request, body, "api:sweep", sweep.pk)


def _get_space(data: Any) -> list[Json]:
    """Return the dimensions as they were posted.

    The serializer would make a float of every number, and a range with whole ends stands for whole values only.
    """
    space: list[Json] = data.get("space")
    return space


class SweepDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=SweepDetailSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One sweep: the front, the best trial, and what matters, as far as it is done."""
        return Response(SweepDetailSerializer(selectors.sweep_get(request.user, id)).data)


class SweepTrials(generics.ListAPIView[Trial]):
    """The trials by number, with every measure."""

    action_required = Action.VIEW
    serializer_class = TrialSerializer
    queryset = Trial.objects.none()

    def get_queryset(self) -> QuerySet[Trial]:
        return selectors.trial_list(selectors.sweep_get(self.request.user, self.kwargs["id"]))  # type: ignore[arg-type]


def _change_sweep(request: ApiRequest, id: UUID, change: Callable[..., object]) -> Response:
    """Answer 202 with the sweep after ``change``, which the workers carry out later."""
    change(user=request.user, sweep=require_owner(request.user, selectors.sweep_get(request.user, id), "a sweep"))
    return Response(SweepSerializer(selectors.sweep_get(request.user, id)).data, status=202)


class SweepCancel(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses={202: SweepSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Let no further trial begin; what is done is kept. 409 where the sweep has ended."""
        return _change_sweep(request, id, services.sweep_cancel)


class SweepResume(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses={202: SweepSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Go on with the trials that are not done; failed ones are tried again. 409 where there is nothing to do."""
        return _change_sweep(request, id, services.sweep_resume)


class SweepSave(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=SavePolicySerializer, responses={201: SavedPolicySerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Keep a trial: a new policy, or a further revision of the base policy if nobody changed that since."""
        sweep = selectors.sweep_get(request.user, id)
        values = validate_input(SavePolicySerializer, request.data)
        revision = services.sweep_policy_save(
            user=request.user,
            sweep=sweep,
            number=values["trial"],
            name=values["name"],
            address=f"/sweeps/{sweep.pk}/",
        )
        body = {"policy": revision.policy.name, "revision": revision.number}
        return Response(SavedPolicySerializer(body).data, status=201)


urlpatterns = [
    path("sweeps/", SweepList.as_view(), name="sweeps"),
    path("sweeps/start/", SweepStart.as_view(), name="sweep-start"),
    path("sweeps/<uuid:id>/", SweepDetail.as_view(), name="sweep"),
    path("sweeps/<uuid:id>/trials/", SweepTrials.as_view(), name="sweep-trials"),
    path("sweeps/<uuid:id>/cancel/", SweepCancel.as_view(), name="sweep-cancel"),
    path("sweeps/<uuid:id>/resume/", SweepResume.as_view(), name="sweep-resume"),
    path("sweeps/<uuid:id>/save/", SweepSave.as_view(), name="sweep-save"),
]
