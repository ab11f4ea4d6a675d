"""REST: git repositories that policies come from, and what came of each commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.policies.repositories import selectors, services
from kschedweb.policies.repositories.models import Repository, RepositoryCommit
from kschedweb.policies.repositories.services import LEAST_SECONDS, MOST_SECONDS
from kschedweb.web.rest import validate_input

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest

COMMIT = OpenApiParameter("commit", OpenApiTypes.STR, description="Full name of a commit; the last one without it.")


class RepositorySerializer(serializers.ModelSerializer[Repository]):
    """A repository without its secret."""

    drafts = serializers.CharField(help_text="Branches to import as drafts, with one star (optional).")
    interval = serializers.IntegerField(help_text="Check every this many seconds.")
    commit = serializers.CharField(help_text="The last one that was read.")
    problem = serializers.CharField(help_text="Why the last look failed; empty where it did not.")
    status_url = serializers.CharField(help_text="Where statuses of commits are told; empty: nowhere.")
    status_problem = serializers.CharField(help_text="Why a status was not taken; empty where all were.")

    class Meta:
        model = Repository
        fields = (
            "name", "url", "branch", "drafts", "folder", "username", "interval", "active", "commit", "looked_at",
            "problem", "status_url", "status_problem",
        )  # fmt: skip
        read_only_fields = fields


class NewRepositorySerializer(serializers.Serializer[Any]):
    name = serializers.SlugField(max_length=63)
    url = serializers.CharField(max_length=500, help_text="https://…, or a folder of the server; both must be allowed.")
    branch = serializers.CharField(max_length=200, required=False)
    drafts = serializers.CharField(
        max_length=200, required=False, allow_blank=True, help_text="Branches whose files become drafts: feature/*."
    )
    folder = serializers.CharField(max_length=300, required=False, allow_blank=True)
    username = serializers.CharField(max_length=100, required=False, allow_blank=True)
    secret = serializers.CharField(max_length=500, required=False, allow_blank=True, help_text="Never shown again.")
    interval = serializers.IntegerField(
        required=False, min_value=LEAST_SECONDS, max_value=MOST_SECONDS, help_text="Check every this many seconds."
    )
    active = serializers.BooleanField(required=False)
    status_url = serializers.CharField(
        max_length=500, required=False, allow_blank=True,
        help_text="Where statuses of commits are told: …/repos/OWNER/NAME of GitHub and of what speaks its API, or "
        "…/api/v4/projects/NUMBER of GitLab.",
    )  # fmt: skip
    status_token = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text="Never shown again."
    )


class FileProblemSerializer(serializers.Serializer[Any]):
    line = serializers.IntegerField(help_text="0 for the whole file.")
    message = serializers.CharField(help_text="The scheduler's own words.")


class CommittedFileSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    policy = serializers.CharField(help_text="Empty where the file never was valid.")
    revision = serializers.IntegerField(allow_null=True, help_text="That it became; null where it became none.")
    removed = serializers.BooleanField(help_text="The file is gone; its policy stays.")
    problems = FileProblemSerializer(many=True)


class CommitStatusSerializer(serializers.ModelSerializer[RepositoryCommit]):
    """The result of a commit that changed files of the folder."""

    files = CommittedFileSerializer(many=True)
    branch = serializers.CharField(help_text="Of drafts; empty where it is the followed one.")
    valid = serializers.BooleanField(help_text="Whether each file that it changed is valid.")

    class Meta:
        model = RepositoryCommit
        fields = ("commit", "branch", "author", "subject", "written_at", "read_at", "valid", "files")
        read_only_fields = fields


class RepositoryList(generics.ListAPIView[Repository]):
    # No Idempotency-Key: the body may hold a secret, and bodies are kept for a day.
    action_required = {"GET": Action.VIEW, "POST": Action.ADMINISTER}
    of_site = True
    serializer_class = RepositorySerializer

    def get_queryset(self) -> QuerySet[Repository]:
        return selectors.repository_list()

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """The git repositories that policies come from, by name."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=NewRepositorySerializer, responses={201: RepositorySerializer})
    def post(self, request: ApiRequest) -> Response:
        """Follow a folder of a git repository: each YAML file in it is a policy of the file's name."""
        repository = services.repository_save(
            user=request.user, **validate_input(NewRepositorySerializer, request.data)
        )
        return Response(RepositorySerializer(repository).data, status=201)


class RepositoryDetail(APIView):
    action_required = {"GET": Action.VIEW, "PUT": Action.ADMINISTER, "DELETE": Action.ADMINISTER}
    of_site = True

    @extend_schema(responses=RepositorySerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """One repository."""
        return Response(RepositorySerializer(selectors.repository_get(name)).data)

    @extend_schema(request=NewRepositorySerializer, responses=RepositorySerializer)
    def put(self, request: ApiRequest, name: str) -> Response:
        """Change a repository. Each secret stays where none is named and its address is the same."""
        repository = selectors.repository_get(name)
        values = validate_input(NewRepositorySerializer, request.data)
        return Response(
            RepositorySerializer(services.repository_save(user=request.user, repository=repository, **values)).data
        )

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, name: str) -> Response:
        """Follow a repository no more; its policies stay."""
        services.repository_delete(user=request.user, repository=selectors.repository_get(name))
        return Response(status=204)


class RepositoryStatus(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[COMMIT], responses=CommitStatusSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The result of a commit: which revisions it made, or file, line and error of what is not valid."""
        commit = selectors.commit_status(selectors.repository_get(name), request.query_params.get("commit", ""))
        return Response(CommitStatusSerializer(commit).data)


urlpatterns = [
    path("repositories/", RepositoryList.as_view(), name="repositories"),
    path("repositories/<slug:name>/", RepositoryDetail.as_view(), name="repository"),
    path("repositories/<slug:name>/status/", RepositoryStatus.as_view(), name="repository-status"),
]
