"""REST: live schedulers, how they are, and commands to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.models import Cluster
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers import missing_rights, rollout, rollout_moves, selectors, services
from kschedweb.live.schedulers.decisions import api as decision_api
from kschedweb.live.schedulers.election.terms import SettingSource, terms_of
from kschedweb.live.schedulers.models import LiveScheduler, Mode
from kschedweb.live.schedulers.rbac import MODES, manifest_text
from kschedweb.live.schedulers.rollout_serializers import (
    LARGEST,
    RollOutQuerySerializer,
    RollOutReviewSerializer,
    RollOutSerializer,
)
from kschedweb.live.schedulers.services import MOST_STEPS
from kschedweb.live.schedulers.status import status_of
from kschedweb.policies.models import Policy, Revision
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.heavy import heavy
from kschedweb.web.rest import IdempotencyMixin, NameField, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest

LIMITS = ("keep_decisions", "keep_days", "keep_columns", "qps", "burst", "lock", "lease_namespace", "lease_name")


class ElectionSettingSerializer(serializers.Serializer[Any]):
    """A field of leaderElection as it is used."""

    name = serializers.CharField(help_text="As in KubeSchedulerConfiguration.")
    value = serializers.CharField()
    source = serializers.ChoiceField(choices=SettingSource.choices)  # type: ignore[assignment]
    overruled = serializers.CharField(allow_blank=True, help_text="What the policy says and `source` overrules.")


class LiveSerializer(serializers.ModelSerializer[LiveScheduler]):
    """A live scheduler; ``revision`` is the one that it runs, until another one is rolled out."""

    cluster = serializers.CharField(source="cluster.name", read_only=True)
    policy = serializers.CharField(source="policy.name", read_only=True)
    revision = serializers.SerializerMethodField()
    engine = serializers.SerializerMethodField(help_text="The version of kschedweb, and the kube-scheduler it acts as.")
    lock = serializers.CharField(read_only=True, help_text="The kind of its own lock; empty: as its policy says.")
    leader_election = serializers.SerializerMethodField(
        help_text="By what its leader is elected, and who says so; `lock`, `lease_namespace` and `lease_name` are the "
        "settings of the live scheduler itself, which win over its policy unless they are empty."
    )

    class Meta:
        model = LiveScheduler
        fields: tuple[str, ...] = (
            "id", "cluster", "scheduler_name", "mode", "policy", "revision", "engine", "paused", "steps", *LIMITS,
            "leader_election", "created_at", "changed_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_revision(self, live: LiveScheduler) -> int:
        return selectors.revision_in_force(live).number

    @extend_schema_field(ElectionSettingSerializer(many=True))
    def get_leader_election(self, live: LiveScheduler) -> list[Json]:
        return terms_of(live).to_list()

    def get_engine(self, live: LiveScheduler) -> str:
        return selectors.release_in_force(live).engine


class CandidateSerializer(serializers.Serializer[Any]):
    """A process that leads or stands by. ``bound`` are pods since it started."""

    identity = serializers.CharField()
    election = serializers.CharField(allow_blank=True, help_text="Kind, namespace and name of the lock it leads by.")
    leading = serializers.BooleanField()
    synced = serializers.BooleanField(help_text="Every kind of object was listed.")
    epoch = serializers.IntegerField(help_text="Transitions of the lock while it leads.")
    started_at = serializers.DateTimeField()
    heartbeat = serializers.DateTimeField(help_text="By the database's clock.")
    silent_seconds = serializers.FloatField(help_text="Since its heartbeat, by the database's clock.")
    ticked_at = serializers.DateTimeField(allow_null=True)
    bound = serializers.IntegerField()
    error = serializers.CharField(allow_blank=True)


class StatusSerializer(serializers.Serializer[Any]):
    """The state of a live scheduler; without a leader there are no numbers."""

    state = serializers.CharField(help_text="In a word, such as `Scheduling`, `Paused`, `Not hosted`.")
    advice = serializers.CharField(allow_blank=True)
    paused = serializers.BooleanField()
    steps = serializers.IntegerField(help_text="Pods still to be tried while it is paused.")
    depths = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by where they are, and nodes.")
    rate = serializers.FloatField(help_text="Pods bound a second, over the last 10 seconds.")
    median_ms = serializers.FloatField(
        allow_null=True, help_text="From a pod's creation to its binding, without waits for people and at gates."
    )
    p99_ms = serializers.FloatField(allow_null=True)
    people_median_ms = serializers.FloatField(allow_null=True, help_text="Until people let a held pod through.")
    error = serializers.CharField(allow_blank=True)
    error_at = serializers.DateTimeField(allow_null=True)
    candidates = CandidateSerializer(many=True)


class LiveDetailSerializer(LiveSerializer):
    status = serializers.SerializerMethodField()

    class Meta(LiveSerializer.Meta):
        fields = (*LiveSerializer.Meta.fields, "status")
        read_only_fields = fields

    @extend_schema(responses=StatusSerializer)
    def get_status(self, live: LiveScheduler) -> Json:
        return dict(StatusSerializer(status_of(live).to_dict()).data)


class ChangeSerializer(serializers.ModelSerializer[LiveScheduler]):
    """The fields that may be changed; what is left out stays as it is."""

    class Meta:
        model = LiveScheduler
        fields: tuple[str, ...] = LIMITS
        extra_kwargs = {name: {"required": False} for name in LIMITS}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        for name in ("policy", "revision"):
            if name in self.initial_data and name not in self.fields:
                raise Unprocessable.at(name, "Roll a revision out instead: POST to rollout/ of this live scheduler.")
        return attrs


class CreateSerializer(ChangeSerializer):
    """A new live scheduler in a connected cluster. Without a revision it runs the newest one of now."""

    cluster = NameField(queryset=Cluster.objects)
    scheduler_name = serializers.CharField(max_length=63, help_text=services.NAME_HELP)
    mode = serializers.ChoiceField(choices=Mode.choices, default=Mode.OFF)
    policy = NameField(queryset=Policy.objects)
    revision = serializers.IntegerField(min_value=1, max_value=LARGEST, required=False, allow_null=True)

    class Meta(ChangeSerializer.Meta):
        fields = ("cluster", "scheduler_name", "mode", "policy", "revision", *ChangeSerializer.Meta.fields)
        # The services say it when a name is taken, with the name.
        validators: list[Any] = []


class ModeSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=Mode.choices)


class StepSerializer(serializers.Serializer[Any]):
    pods = serializers.IntegerField(min_value=1, max_value=MOST_STEPS, default=1)


class LiveList(IdempotencyMixin, generics.ListAPIView[LiveScheduler]):
    action_required = {"GET": Action.VIEW, "POST": Action.ADMINISTER}
    in_part = ("GET",)
    of_site = False
    serializer_class = LiveSerializer
    queryset = LiveScheduler.objects.none()

    def get_queryset(self) -> QuerySet[LiveScheduler]:
        return selectors.live_list()

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The live schedulers of all clusters."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=CreateSerializer, responses={201: LiveSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a live scheduler; the cluster must be connected unless it is off."""
        values = validate_input(CreateSerializer, request.data)
        values["revision"] = revision_at("revision", values["policy"], values.get("revision"))
        live = services.live_create(user=request.user, **values)
        location = reverse("api:live-scheduler", args=[live.pk], request=request)
        return Response(LiveSerializer(live).data, status=201, headers={"Location": location})


class LiveDetail(APIView):
    action_required = {"GET": Action.VIEW, "PATCH": Action.ADMINISTER, "DELETE": Action.ADMINISTER}
    in_part = ("GET",)
    of_site = False

    @extend_schema(responses=LiveDetailSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One live scheduler and how it is now."""
        return Response(LiveDetailSerializer(selectors.live_get(id)).data)

    @extend_schema(request=ChangeSerializer, responses=LiveSerializer)
    def patch(self, request: ApiRequest, id: UUID) -> Response:
        """Change its limits, lock, or what is kept; taken over within a second.

        409 where a process at work would not be kept out by the changed lock.
        """
        live = selectors.live_get(id)
        changed = services.live_change(user=request.user, live=live, **validate_input(ChangeSerializer, request.data))
        return Response(LiveSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, id: UUID) -> Response:
        """Delete it with its decisions; 409 unless it is off."""
        services.live_delete(user=request.user, live=selectors.live_get(id))
        return Response(status=204)


@method_decorator(heavy, name="dispatch")
class LiveRollOut(IdempotencyMixin, APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(
        parameters=[RollOutQuerySerializer], responses={200: RollOutReviewSerializer, 202: DecisionQuestionSerializer}
    )
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The review of a roll-out: its changes, and the pods that would go elsewhere.

        Of a cluster that is too large to be read here and now, and with `all`, a job asks the pods: 202, and the answer
        once the job has ended.
        """
        live = selectors.live_get(id)
        values = validate_input(RollOutQuerySerializer, request.query_params)
        after = revision_at("revision", values.get("policy", live.policy), values.get("revision"))
        moves = rollout_moves.ask_moves(request.user, live, after, everyone=values["all"])
        if isinstance(moves, Question):
            return respond_accepted(request, moves)
        return Response(RollOutReviewSerializer({"seen": rollout.review_roll_out(live, after), "moves": moves}).data)

    @extend_schema(request=RollOutSerializer, responses=LiveSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Have a live scheduler run another revision, newer or older, within a second.

        409 where it runs another one than `expected` by now.
        """
        live = selectors.live_get(id)
        values = validate_input(RollOutSerializer, request.data)
        expected = values["expected"]
        changed = services.live_roll_out(
            user=request.user,
            live=live,
            revision=revision_at("revision", values["policy"], values["revision"]),
            expected=revision_at("expected.revision", expected["policy"], expected["revision"]),
        )
        return Response(LiveSerializer(changed).data)


class LiveMode(IdempotencyMixin, APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(request=ModeSerializer, responses=LiveSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Switch to off, shadow, extender or scheduling; the old mode ends in an orderly way first."""
        values = validate_input(ModeSerializer, request.data)
        live = services.live_set_mode(user=request.user, live=selectors.live_get(id), mode=values["mode"])
        return Response(LiveSerializer(live).data)


class LivePause(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses=LiveSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Try no further pod; what was decided before is still bound."""
        return Response(LiveSerializer(services.live_pause(user=request.user, live=selectors.live_get(id))).data)


class LiveResume(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses=LiveSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Go on after a pause."""
        return Response(LiveSerializer(services.live_resume(user=request.user, live=selectors.live_get(id))).data)


class LiveStep(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=StepSerializer, responses=LiveSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Have the next pods tried while it is paused."""
        values = validate_input(StepSerializer, request.data)
        pods = values["pods"]
        live = services.live_step(user=request.user, live=selectors.live_get(id), pods=pods)
        return Response(LiveSerializer(live).data)


class LiveReload(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses=LiveSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Have the cluster listed anew."""
        return Response(LiveSerializer(services.live_reload(user=request.user, live=selectors.live_get(id))).data)


class NeedsSerializer(serializers.Serializer[Any]):
    mode = serializers.ChoiceField(choices=MODES)


class RightSerializer(serializers.Serializer[Any]):
    """A right that is missing; in all namespaces where ``namespace`` is empty."""

    verb = serializers.CharField()
    group = serializers.CharField(allow_blank=True)
    resource = serializers.CharField()
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField(allow_blank=True)
    costs = serializers.CharField(help_text="Completes: without it, …")


class RightsSerializer(serializers.Serializer[Any]):
    mode = serializers.CharField()
    missing = RightSerializer(many=True)
    manifest = serializers.CharField(help_text="YAML for `kubectl apply -f -` that grants everything the mode needs.")


class LiveRights(APIView):
    action_required = Action.EDIT

    @extend_schema(request=NeedsSerializer, responses=RightsSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Ask the cluster which rights its credentials lack for a mode."""
        live = selectors.live_get(id)
        values = validate_input(NeedsSerializer, request.data)
        mode = values["mode"]
        answer = {
            "mode": mode,
            "missing": missing_rights.missing_rights(live, mode),
            "manifest": manifest_text(missing_rights.needs_of(live, mode)),
        }
        return Response(RightsSerializer(answer).data)


def revision_at(path: str, policy: Policy, number: int | None) -> Revision:
    """Revision ``number`` of ``policy``, ``None`` for the newest; a problem at ``path`` where there is none."""
    revisions = policy.revisions.select_related("policy").order_by("-number")
    revision = (revisions if number is None else revisions.filter(number=number)).first()
    if revision is None:
        raise ApplicationError.at(path, f"Policy {policy.name} has no revision {number}.")
    return revision


urlpatterns = [
    path("live/", LiveList.as_view(), name="live"),
    path("live/<uuid:id>/", LiveDetail.as_view(), name="live-scheduler"),
    path("live/<uuid:id>/rollout/", LiveRollOut.as_view(), name="live-rollout"),
    path("live/<uuid:id>/mode/", LiveMode.as_view(), name="live-mode"),
    path("live/<uuid:id>/pause/", LivePause.as_view(), name="live-pause"),
    path("live/<uuid:id>/resume/", LiveResume.as_view(), name="live-resume"),
    path("live/<uuid:id>/step/", LiveStep.as_view(), name="live-step"),
    path("live/<uuid:id>/reload/", LiveReload.as_view(), name="live-reload"),
    path("live/<uuid:id>/rights/", LiveRights.as_view(), name="live-rights"),
    *decision_api.urlpatterns,
]
