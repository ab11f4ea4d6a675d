"""REST: a cluster's annotations, what is wrong with them, and writing them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.api import ObjectProblemSerializer
from kschedweb.clusters.selectors import cluster_get
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.watermarks.lint import CRANE, ERROR, HINT, KSCHEDWEB, WARNING
from kschedweb.jobs.api import JobSerializer
from kschedweb.watermarks.annotations import selectors, services
from kschedweb.watermarks.models import Annotating
from kschedweb.web.errors import NotFound
from kschedweb.web.rest import IdempotencyMixin

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest

MOST_PLACES = 100


class PatchPermissionSerializer(serializers.Serializer[Any]):
    resource = serializers.CharField()
    allowed = serializers.BooleanField(help_text="Whether the cluster's credentials may patch it.")


class WritingSerializer(serializers.Serializer[Any]):
    """Outcome of the last run, in objects."""

    patched = serializers.IntegerField()
    unchanged = serializers.IntegerField(help_text="What stood there may stay.")
    gone = serializers.IntegerField(help_text="Deleted in the meantime.")
    left = serializers.IntegerField(help_text="Not tried: time ran out, or it would have failed as others did.")
    failures = serializers.IntegerField()
    failed = ObjectProblemSerializer(many=True, help_text="The first hundred of those that failed.")


class AnnotatingSerializer(serializers.ModelSerializer[Annotating]):
    """The annotations that are written to a cluster, and how that went."""

    permissions = PatchPermissionSerializer(many=True, read_only=True)
    changed_by = serializers.CharField(source="changed_by.username", default=None, allow_null=True, read_only=True)
    outcome = serializers.SerializerMethodField()
    remove = serializers.BooleanField(
        write_only=True,
        required=False,
        default=False,
        help_text="Take away what was written in a form that is off now.",
    )

    class Meta:
        model = Annotating
        fields = (
            "own",
            "crane",
            "time_zone",
            "rate",
            "renew",
            "remove",
            "permissions",
            "changed_by",
            "changed_at",
            "ran_at",
            "error",
            "outcome",
        )
        read_only_fields = ("permissions", "changed_by", "changed_at", "ran_at", "error", "outcome")
        extra_kwargs = {
            "own": {"help_text": "Write kschedweb's own form, on nodes and workloads."},
            "crane": {"help_text": "Write crane-scheduler's form, on nodes."},
            "time_zone": {"help_text": "Of crane's texts, which are local time though they end in Z."},
            "rate": {"help_text": "Requests a second, at most."},
            "renew": {"help_text": "Seconds after which a figure is written again though it hardly moved."},
            "error": {"help_text": "Why the last run could not begin; empty where it could."},
        }

    @extend_schema_field(WritingSerializer(allow_null=True))
    def get_outcome(self, annotating: Annotating) -> Json | None:
        return annotating.outcome or None


class AnnotationsView(APIView):
    action_required = {"GET": Action.VIEW, "PATCH": Action.ADMINISTER}
    of_site = False

    @extend_schema(responses=AnnotatingSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The annotations that are written to the cluster, and how the last run went."""
        return Response(AnnotatingSerializer(selectors.annotating_get(cluster_get(name))).data)

    @extend_schema(request=AnnotatingSerializer(partial=True), responses=AnnotatingSerializer)
    def patch(self, request: ApiRequest, name: str) -> Response:
        """Switch annotations on or off; what is not sent stays as it is."""
        cluster = cluster_get(name)
        before = selectors.annotating_get(cluster)
        serializer = AnnotatingSerializer(before, data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        current = {field: getattr(before, field) for field in ("own", "crane", "time_zone", "rate", "renew")}
        services.annotating_save(user=request.user, cluster=cluster, **{**current, **serializer.validated_data})
        return Response(AnnotatingSerializer(selectors.annotating_get(cluster)).data)


class AnnotationsWrite(IdempotencyMixin, APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(request=None, responses={202: JobSerializer})
    def post(self, request: ApiRequest, name: str) -> Response:
        """Write the current figures now, where they changed; 409 where that is switched off."""
        job = services.write_start(user=request.user, cluster=cluster_get(name))
        location = reverse("api:job", args=[job.pk], request=request)
        return Response(JobSerializer(job).data, status=202, headers={"Location": location})


class FindingSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    level = serializers.ChoiceField(choices=[ERROR, WARNING, HINT])
    form = serializers.ChoiceField(choices=[KSCHEDWEB, CRANE], help_text="Whose form of annotation.")
    message = serializers.CharField()
    advice = serializers.CharField()
    count = serializers.SerializerMethodField()
    places = serializers.SerializerMethodField(help_text="The first hundred objects that it is about.")

    def get_count(self, finding: Any) -> int:
        return len(finding.places)

    def get_places(self, finding: Any) -> list[str]:
        return list(finding.places[:MOST_PLACES])


class LintSerializer(serializers.Serializer[Any]):
    """The state of the annotations of the newest snapshot."""

    taken_at = serializers.DateTimeField()
    time_zone = serializers.CharField()
    nodes = serializers.IntegerField()
    own = serializers.IntegerField(help_text="Nodes annotated in kschedweb's form.")
    workloads = serializers.IntegerField(help_text="Workloads annotated in kschedweb's form.")
    crane = serializers.IntegerField(help_text="Nodes annotated in crane's form.")
    findings = FindingSerializer(many=True)


class AnnotationFindings(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=LintSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The problems of the annotations in the cluster's newest snapshot, as of when it was taken."""
        cluster = cluster_get(name)
        lint = selectors.lint_get(cluster, selectors.annotating_get(cluster).time_zone)
        if lint is None:
            raise NotFound(f"Cluster {name} has not been read yet.")
        return Response(LintSerializer(lint).data)


urlpatterns = [
    path("clusters/<slug:name>/annotations/", AnnotationsView.as_view(), name="annotations"),
    path("clusters/<slug:name>/annotations/findings/", AnnotationFindings.as_view(), name="annotation-findings"),
    path("clusters/<slug:name>/annotations/write/", AnnotationsWrite.as_view(), name="annotations-write"),
]
