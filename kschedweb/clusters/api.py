"""REST: clusters, their snapshots, nodes and pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import generics, parsers, serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters import selectors, services
from kschedweb.clusters.connecting.addresses import CLUSTERS
from kschedweb.clusters.connecting.allowed_addresses import (
    allowed_address_add,
    allowed_address_list,
    allowed_address_remove,
)
from kschedweb.clusters.events.selectors import event_rows
from kschedweb.clusters.filters import EventFilter, NodeFilter, PodFilter
from kschedweb.clusters.importing import uploads
from kschedweb.clusters.models import AllowedAddress, Cluster, EventRow, NodeRow, PodRow, Snapshot
from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.clusters.redaction import problems_seen
from kschedweb.clusters.refresh_schedule import MOST_MINUTES, cluster_label, refresh_schedule
from kschedweb.clusters.rows import Problem
from kschedweb.engine.releases import find_nearest_release
from kschedweb.jobs.api import JobSerializer
from kschedweb.web.errors import ApplicationError, TooLarge
from kschedweb.web.rest import IdempotencyMixin, accepted_response, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest

# What a multipart body holds beside its files.
ENVELOPE = 64 * 1024
RAW = object()


class PermissionSerializer(serializers.Serializer[Any]):
    resource = serializers.CharField()
    verb = serializers.CharField()
    allowed = serializers.BooleanField()
    costs = serializers.CharField(help_text="What a decision lacks without it.")


VERSION_HELP = (
    "Of Kubernetes, such as 1.34. Without it what a file of `kubectl version -o json` says counts, else the lowest "
    "version of the kubelets, as a guess (`version_guessed`)."
)


class ObjectProblemSerializer(serializers.Serializer[Any]):
    object = serializers.CharField()
    reason = serializers.CharField()


class SnapshotProblemSerializer(ObjectProblemSerializer):
    left_out = serializers.BooleanField(help_text="Whether answers do without it; otherwise it is kept as it stands.")


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    """A cluster; ``counts`` are of its newest snapshot. What opens it is never shown."""

    permissions = PermissionSerializer(many=True, read_only=True)
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)
    taken_at = serializers.DateTimeField(read_only=True, allow_null=True, default=None)
    counts = serializers.SerializerMethodField()
    labels = serializers.DictField(child=serializers.CharField(), read_only=True)
    release = serializers.SerializerMethodField(
        help_text="The release of kube-scheduler that answers for it where a policy names none; empty if unknown."
    )
    release_remark = serializers.SerializerMethodField(help_text="That its own release is not known, else empty.")

    class Meta:
        model = Cluster
        fields = (
            "name",
            "source",
            "server",
            "server_version",
            "version_guessed",
            "release",
            "release_remark",
            "permissions",
            "created_by",
            "created_at",
            "refreshed_at",
            "refresh_error",
            "refresh_minutes",
            "events_read_at",
            "events_problem",
            "labels",
            "taken_at",
            "counts",
        )
        read_only_fields = fields
        extra_kwargs = {
            "events_read_at": {"help_text": "When its Events were last read; of files, the time of the newest."},
            "events_problem": {"help_text": "Why not all of its Events could be read; empty if they were."},
        }

    def get_release(self, cluster: Cluster) -> str:
        return find_nearest_release(cluster.server_version)

    def get_release_remark(self, cluster: Cluster) -> str:
        return selectors.release_remark(cluster)

    @extend_schema_field({"type": "object", "additionalProperties": {"type": "integer"}})
    def get_counts(self, cluster: Cluster) -> dict[str, int]:
        return getattr(cluster, "counts", None) or {}


class CredentialsSerializer(serializers.Serializer[Any]):
    """Either a token or a kubeconfig for the same server; never shown again. Without ``ca`` the authority stays."""

    kubeconfig = serializers.CharField(
        required=False, default="", allow_blank=True, write_only=True, trim_whitespace=False
    )
    context = serializers.CharField(  # type: ignore[assignment]
        required=False, default="", allow_blank=True, max_length=253, write_only=True
    )
    token = serializers.CharField(required=False, default="", allow_blank=True, write_only=True)
    ca = serializers.CharField(required=False, default="", allow_blank=True, write_only=True)


class ConnectSerializer(CredentialsSerializer):
    """Access to a cluster. Its secrets are encrypted and never shown again."""

    name = serializers.RegexField(services.NAME.pattern, max_length=63)
    source = serializers.ChoiceField(choices=sorted(services.CONNECTED))  # type: ignore[assignment]
    server = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)


class ScheduleSerializer(serializers.Serializer[Any]):
    refresh_minutes = serializers.IntegerField(
        min_value=0, max_value=MOST_MINUTES, help_text="Minutes between two readings; 0: only when somebody asks."
    )


class ConnectedSerializer(serializers.Serializer[Any]):
    cluster = ClusterSerializer()
    job = JobSerializer()


class SnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    counts = serializers.DictField(child=serializers.IntegerField(), read_only=True)
    problems = serializers.SerializerMethodField()

    class Meta:
        model = Snapshot
        fields = ("id", "taken_at", "size", "counts", "problems")
        read_only_fields = fields

    @extend_schema_field(SnapshotProblemSerializer(many=True))
    def get_problems(self, snapshot: Snapshot) -> list[Problem]:
        return [{"left_out": False, **problem} for problem in problems_seen(snapshot)]


class ImportedSerializer(serializers.Serializer[Any]):
    cluster = ClusterSerializer()
    snapshot = SnapshotSerializer()
    left_out = serializers.IntegerField(help_text="Objects that were not understood; `snapshot.problems` lists them.")


class NodeSerializer(serializers.ModelSerializer[NodeRow]):
    """A node; CPU in millicores, memory in bytes, shares in thousandths of allocatable."""

    taints = serializers.ListField(child=serializers.CharField(), read_only=True)
    extended = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField()),
        read_only=True,
        help_text="Other resources: requested, allocatable.",
    )

    class Meta:
        model = NodeRow
        exclude = ("id", "snapshot", "labels")


class PodSerializer(serializers.ModelSerializer[PodRow]):
    """A pod; CPU in millicores, memory in bytes, `message` in the words of the cluster's own scheduler."""

    class Meta:
        model = PodRow
        exclude = ("id", "snapshot")


class EventSerializer(serializers.ModelSerializer[EventRow]):
    """An Event of the cluster; `count` times from `first_at` to `last_at`, `message` is cut at 1,024 characters."""

    class Meta:
        model = EventRow
        exclude = ("id", "cluster")
        extra_kwargs = {
            "uid": {"help_text": "Of the Event."},
            "kind": {"help_text": "Of the object that it is about."},
            "namespace": {"help_text": "Of the object; empty for nodes."},
            "name": {"help_text": "Of the object."},
            "object_uid": {"help_text": "Of the object; empty if unknown."},
            "type": {"help_text": "Normal or Warning."},
            "source": {"help_text": "The program that wrote it."},
        }


class ClusterList(IdempotencyMixin, generics.ListAPIView[Cluster]):
    """The clusters by name."""

    action_required = {"GET": Action.VIEW, "POST": Action.ADMINISTER}
    in_part = ("GET",)
    serializer_class = ClusterSerializer

    def get_queryset(self) -> QuerySet[Cluster]:
        return selectors.cluster_list().select_related("created_by")

    @extend_schema(request=ConnectSerializer, responses={201: ConnectedSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Connect a cluster and start reading it; `job` tells how far that is."""
        values = validate_input(ConnectSerializer, request.data)
        cluster, job = services.cluster_connect(user=request.user, **values)
        answer = ConnectedSerializer({"cluster": cluster, "job": job}).data
        return Response(answer, status=201, headers={"Location": _cluster_url(request, cluster)})


def _cluster_url(request: ApiRequest, cluster: Cluster) -> str:
    return reverse("api:cluster", args=[cluster.name], request=request)


class RawFile(parsers.BaseParser):
    """A body that is the file itself; what it holds is found out by reading it, which is left to the view."""

    media_type = "*/*"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[Any, Any]:
        return {RAW: stream}


class ClusterImport(APIView):
    action_required = Action.EDIT
    of_site = True
    parser_classes = (parsers.MultiPartParser, RawFile)

    @extend_schema(
        parameters=[
            OpenApiParameter("name", str, description="Where the body is the file itself: the cluster's name."),
            OpenApiParameter("replace", bool, description="Make a new snapshot of a cluster imported before."),
            OpenApiParameter("version", str, description=VERSION_HELP),
        ],
        request={
            "multipart/form-data": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "pattern": f"^{services.NAME.pattern}$"},
                    "replace": {"type": "boolean", "default": False},
                    "version": {"type": "string", "description": VERSION_HELP},
                    "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                },
                "required": ["name", "file"],
            },
            "application/json": OpenApiTypes.OBJECT,
            "application/yaml": OpenApiTypes.STR,
        },
        responses={200: ImportedSerializer, 201: ImportedSerializer, 202: JobSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Import files: kubectl's lists (JSON or YAML), YAML of several documents, a simulator's export.

        At most 1 MiB is answered at once: 200 where a cluster imported before got a new snapshot (`replace`), 201 for
        a new cluster. More is answered by 202 and the job that reads it; its `result` names the `cluster` once it
        succeeded, and holds `errors` with path and message where a file cannot be read.
        """
        self._length_check(request)
        fields: dict[str, object] = {**request.query_params.dict()}
        data: Any = request.data
        if RAW in data:
            named_contents = [("", uploads.read_pieces(data[RAW]))]
        else:
            fields |= {key: value for key, value in data.items() if isinstance(value, str)}
            named_contents = [
                (file.name or "file", uploads.read_pieces(file)) for file in request.FILES.getlist("file")
            ]
        name = str(fields.get("name", ""))
        services.name_check(name)
        if not named_contents:
            message = "Send at least one file under the name file."
            raise ApplicationError.at("file", message)
        replace = str(fields.get("replace", "")).lower() in ("1", "true", "yes", "on")
        options: dict[str, Any] = {
            "user": request.user, "name": name, "limit": settings.UPLOAD_LIMIT, "replace": replace,
            "version": str(fields.get("version", "")),
        }  # fmt: skip
        files, is_large = uploads.looked_at(named_contents)
        if is_large:
            job = services.cluster_import_later(files=files, **options)
            return accepted_response(request, JobSerializer(job).data, "api:job", job.pk)
        cluster, snapshot, read = services.cluster_import(files=files, **options)
        answer = {"cluster": selectors.cluster_get(cluster.name), "snapshot": snapshot, "left_out": read.left_out}
        is_new = cluster.snapshots.count() == 1
        headers = {"Location": _cluster_url(request, cluster)}
        return Response(ImportedSerializer(answer).data, status=201 if is_new else 200, headers=headers)

    def _length_check(self, request: ApiRequest) -> None:
        """Refuse by the announced length, before the body is taken in."""
        length = request.META.get("CONTENT_LENGTH") or "0"
        if length.isdigit() and int(length) > settings.UPLOAD_LIMIT + ENVELOPE:
            raise TooLarge("The upload is larger than this server allows.")


class ClusterDetail(APIView):
    action_required = {"GET": Action.VIEW, "PATCH": Action.EDIT, "DELETE": Action.ADMINISTER}
    in_part = ("GET",)
    of_site = False

    @extend_schema(responses=ClusterSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """One cluster."""
        return Response(ClusterSerializer(selectors.cluster_get(name)).data)

    @extend_schema(request=ScheduleSerializer, responses=ClusterSerializer)
    def patch(self, request: ApiRequest, name: str) -> Response:
        """Change how often a connected cluster is read again."""
        values = validate_input(ScheduleSerializer, request.data)
        minutes = values["refresh_minutes"]
        cluster = refresh_schedule(user=request.user, cluster=selectors.cluster_get(name), minutes=minutes)
        return Response(ClusterSerializer(cluster).data)

    @extend_schema(request=None, responses={204: None})
    def delete(self, request: ApiRequest, name: str) -> Response:
        """Delete a cluster with its credentials and snapshots."""
        services.cluster_delete(user=request.user, cluster=selectors.cluster_get(name))
        return Response(status=204)


class LabelsSerializer(serializers.Serializer[Any]):
    """Labels of a cluster, by which grants name many."""

    labels = serializers.DictField(child=serializers.CharField(allow_blank=True))


class ClusterLabels(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(request=LabelsSerializer, responses=ClusterSerializer)
    def put(self, request: ApiRequest, name: str) -> Response:
        """Give a cluster these labels in place of those it has; grants name clusters by them."""
        values = validate_input(LabelsSerializer, request.data)
        cluster = cluster_label(user=request.user, cluster=selectors.cluster_get(name), labels=values["labels"])
        return Response(ClusterSerializer(cluster).data)


class ClusterRefresh(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses={202: JobSerializer})
    def post(self, request: ApiRequest, name: str) -> Response:
        """Read the cluster again. The answer is the job that does it, or the one that already does."""
        job = services.cluster_refresh(user=request.user, cluster=selectors.cluster_get(name))
        location = reverse("api:job", args=[job.pk], request=request)
        return Response(JobSerializer(job).data, status=202, headers={"Location": location})


class ClusterCredentials(APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(request=CredentialsSerializer, responses={204: None})
    def put(self, request: ApiRequest, name: str) -> Response:
        """Replace the credentials of a connected cluster; live schedulers go on with them within a second."""
        cluster = selectors.cluster_get(name)
        values = validate_input(CredentialsSerializer, request.data)
        services.cluster_credentials_replace(user=request.user, cluster=cluster, **values)
        return Response(status=204)


class SnapshotList(generics.ListAPIView[Snapshot]):
    """The snapshots of a cluster, newest first."""

    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = SnapshotSerializer
    queryset = Snapshot.objects.none()

    def get_queryset(self) -> QuerySet[Snapshot]:
        return selectors.snapshot_list(selectors.cluster_get(self.kwargs["name"]))


class SnapshotDetail(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(responses=SnapshotSerializer)
    def get(self, request: ApiRequest, name: str, id: UUID) -> Response:
        """One snapshot."""
        return Response(SnapshotSerializer(selectors.snapshot_get(selectors.cluster_get(name), id)).data)


@extend_schema_view(get=extend_schema(parameters=[SNAPSHOT, AT]))
class NodeList(generics.ListAPIView[NodeRow]):
    """The nodes of the cluster's newest snapshot, or of the one that `snapshot` or `at` names."""

    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = NodeSerializer
    filterset_class = NodeFilter
    queryset = NodeRow.objects.none()

    def get_queryset(self) -> QuerySet[NodeRow]:
        snapshot = selectors.snapshot_of(selectors.cluster_get(self.kwargs["name"]), self.request.query_params)
        return selectors.node_rows(snapshot) if snapshot else NodeRow.objects.none()


@extend_schema_view(get=extend_schema(parameters=[SNAPSHOT, AT]))
class PodList(generics.ListAPIView[PodRow]):
    """The pods of the cluster's newest snapshot, or of the one that `snapshot` or `at` names; pending ones first."""

    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = PodSerializer
    filterset_class = PodFilter
    queryset = PodRow.objects.none()

    def get_queryset(self) -> QuerySet[PodRow]:
        snapshot = selectors.snapshot_of(selectors.cluster_get(self.kwargs["name"]), self.request.query_params)
        return selectors.pod_rows(snapshot) if snapshot else PodRow.objects.none()


class EventList(generics.ListAPIView[EventRow]):
    """The newest Events that the cluster wrote, as its own programs worded them, newest first.

    They are read at each refresh, and kept in a ring also after the cluster has forgotten them. Without a grant for the
    whole cluster, those of nodes are left out.
    """

    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = EventSerializer
    filterset_class = EventFilter
    queryset = EventRow.objects.none()

    def get_queryset(self) -> QuerySet[EventRow]:
        return event_rows(selectors.cluster_get(self.kwargs["name"]))


class AllowedAddressSerializer(serializers.ModelSerializer[AllowedAddress]):
    """An address, a network, a host name or a `*.suffix` that an administrator added to the allowlist."""

    entry = serializers.CharField(max_length=255, help_text="Such as `10.20.0.0/16` or `api.example.com`.")
    added_by = serializers.CharField(source="added_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = AllowedAddress
        fields = ("entry", "added_by", "added_at")


class AllowedAddressList(generics.ListAPIView[AllowedAddress]):
    """The addresses that administrators allowed this site to connect to.

    Empty where the operator does not permit that.
    """

    action_required = Action.ADMINISTER
    serializer_class = AllowedAddressSerializer
    queryset = AllowedAddress.objects.none()

    def get_queryset(self) -> QuerySet[AllowedAddress]:
        return allowed_address_list() if CLUSTERS.editable else AllowedAddress.objects.none()

    @extend_schema(request=AllowedAddressSerializer, responses={201: AllowedAddressSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Allow an address for clusters, Prometheus and webhooks, from the next connection on.

        403 where the operator does not permit it (`KSCHEDWEB_CLUSTER_ALLOWLIST_EDITABLE`), 409 for what is allowed
        already, 400 for what is too wide or where no request may go.
        """
        values = validate_input(AllowedAddressSerializer, request.data)
        row = allowed_address_add(user=request.user, entry=values["entry"])
        location = reverse("api:allowed-address", args=[row.entry], request=request)
        return Response(AllowedAddressSerializer(row).data, status=201, headers={"Location": location})


class AllowedAddressDetail(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(operation_id="allowed_addresses_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, entry: str) -> Response:
        """Remove what an administrator added. Open connections stay; new ones are refused."""
        allowed_address_remove(user=request.user, entry=entry)
        return Response(status=204)


urlpatterns = [
    path("allowed-addresses/", AllowedAddressList.as_view(), name="allowed-addresses"),
    path("allowed-addresses/<path:entry>/", AllowedAddressDetail.as_view(), name="allowed-address"),
    path("clusters/", ClusterList.as_view(), name="clusters"),
    path("clusters/import/", ClusterImport.as_view(), name="cluster-import"),
    path("clusters/<slug:name>/", ClusterDetail.as_view(), name="cluster"),
    path("clusters/<slug:name>/refresh/", ClusterRefresh.as_view(), name="cluster-refresh"),
    path("clusters/<slug:name>/labels/", ClusterLabels.as_view(), name="cluster-labels"),
    path("clusters/<slug:name>/credentials/", ClusterCredentials.as_view(), name="cluster-credentials"),
    path("clusters/<slug:name>/snapshots/", SnapshotList.as_view(), name="snapshots"),
    path("clusters/<slug:name>/snapshots/<uuid:id>/", SnapshotDetail.as_view(), name="snapshot"),
    path("clusters/<slug:name>/nodes/", NodeList.as_view(), name="nodes"),
    path("clusters/<slug:name>/pods/", PodList.as_view(), name="pods"),
    path("clusters/<slug:name>/events/", EventList.as_view(), name="events"),
]
