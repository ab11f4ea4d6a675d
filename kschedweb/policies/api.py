"""REST: policies, their revisions, and what kube-scheduler says about a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.dashboard.preconditions import IF_MATCH, expected
from kschedweb.dashboard.rest import IdempotencyMixin
from kschedweb.policies import diff, selectors, services
from kschedweb.policies.document import SIZE_LIMIT
from kschedweb.policies.download import document_response
from kschedweb.policies.filters import PolicyFilter
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.validation import Checked, check

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest


class PolicySerializer(serializers.ModelSerializer[Policy]):
    """A policy; its documents are its revisions."""

    revision = serializers.IntegerField(source="newest", read_only=True, help_text="Number of the newest revision.")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)
    changed_by = serializers.CharField(read_only=True, allow_null=True, default=None)

    class Meta:
        model = Policy
        fields = ("name", "description", "revision", "created_by", "created_at", "changed_at", "changed_by")
        read_only_fields = fields


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """One saved state of a policy; it never changes."""

    policy = serializers.CharField(source="policy.name", read_only=True)
    author = serializers.CharField(source="author.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Revision
        fields: tuple[str, ...] = ("policy", "number", "comment", "author", "created_at")
        read_only_fields = fields


class RevisionDetailSerializer(RevisionSerializer):
    class Meta(RevisionSerializer.Meta):
        fields = (*RevisionSerializer.Meta.fields, "document")
        read_only_fields = fields


class DocumentField(serializers.CharField):
    """YAML or JSON text of a KubeSchedulerConfiguration v1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, max_length=SIZE_LIMIT, **kwargs)


class PolicyCreateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=63, help_text=services.NAME_HELP)
    description = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    document = DocumentField(required=False, help_text="The first revision. Left out: kube-scheduler's defaults.")
    copy_of = serializers.CharField(required=False, help_text="In place of a document: the policy to start from.")
    comment = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "document" in attrs and "copy_of" in attrs:
            raise serializers.ValidationError({"copy_of": "Give a document or a policy to copy, not both."})
        return attrs


class PolicyPatchSerializer(serializers.Serializer[Any]):
    description = serializers.CharField(max_length=500, allow_blank=True)


class RevisionCreateSerializer(serializers.Serializer[Any]):
    document = DocumentField()
    comment = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)


class ValidateSerializer(serializers.Serializer[Any]):
    document = DocumentField(allow_blank=True)


class PlacedProblemSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(help_text="As kube-scheduler writes it; empty for the whole document.")
    message = serializers.CharField()
    line = serializers.IntegerField(min_value=1)
    column = serializers.IntegerField(min_value=1)


class EffectivePluginSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    weight = serializers.IntegerField(help_text="0 but at score.")


class EffectiveProfileSerializer(serializers.Serializer[Any]):
    scheduler_name = serializers.CharField()
    percentage_of_nodes_to_score = serializers.IntegerField(allow_null=True)
    points = serializers.DictField(child=EffectivePluginSerializer(many=True))
    args = serializers.DictField()


class VerdictSerializer(serializers.Serializer[Any]):
    """What kube-scheduler says about a document; `defaulted` and `effective` are null where it refuses it."""

    valid = serializers.BooleanField()
    errors = PlacedProblemSerializer(many=True)  # type: ignore[assignment]
    warnings = PlacedProblemSerializer(many=True)
    defaulted = serializers.DictField(allow_null=True)
    effective = EffectiveProfileSerializer(many=True, allow_null=True)


class ChangeSerializer(serializers.Serializer[Any]):
    where = serializers.CharField(help_text="Profile and extension points; empty for all profiles.")
    what = serializers.CharField()
    before = serializers.CharField(help_text="Empty where it was absent.")
    after = serializers.CharField()


class DiffSerializer(serializers.Serializer[Any]):
    old = serializers.IntegerField(help_text="Revision that is compared from.")
    new = serializers.IntegerField()
    changes = ChangeSerializer(many=True, help_text="What kube-scheduler would do otherwise.")
    patch = serializers.CharField(help_text="The lines that differ, as `diff -u` writes them.")


class PolicyList(IdempotencyMixin, generics.ListAPIView[Policy]):
    """The policies by name."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = PolicySerializer
    filterset_class = PolicyFilter
    queryset = selectors.policy_list().select_related("created_by")

    @extend_schema(request=PolicyCreateSerializer, responses={201: PolicySerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a policy with its revision 1."""
        data = _validated(PolicyCreateSerializer, request.data)
        source = data.get("copy_of") or selectors.DEFAULT_POLICY
        document = data.get("document")
        if document is None:
            document = (
                selectors.revision_get(selectors.policy_get(source)).document
                if "copy_of" in data
                else services.DEFAULT_DOCUMENT
            )
        policy = services.policy_create(
            name=data["name"],
            description=data["description"],
            document=document,
            comment=data["comment"],
            author=request.user,
        )
        return _policy_answer(request, policy.name, status=201)


class PolicyDetail(APIView):
    action_required = {"GET": Action.VIEW, "PATCH": Action.EDIT, "DELETE": Action.EDIT}

    @extend_schema(responses=PolicySerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """One policy; the ETag is the number of its newest revision."""
        return _policy_answer(request, name)

    @extend_schema(request=PolicyPatchSerializer, responses=PolicySerializer)
    def patch(self, request: ApiRequest, name: str) -> Response:
        """Change the description; the document is changed by a new revision."""
        data = _validated(PolicyPatchSerializer, request.data)
        policy = selectors.policy_get(name)
        services.policy_describe(policy=policy, description=data["description"], author=request.user)
        return _policy_answer(request, name)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, name: str) -> Response:
        """Delete the policy with all its revisions; 409 for `default`."""
        services.policy_delete(policy=selectors.policy_get(name), author=request.user)
        return Response(status=204)


class RevisionList(IdempotencyMixin, generics.ListAPIView[Revision]):
    """The revisions of a policy, newest first, without their documents."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = RevisionSerializer
    filter_backends = ()
    queryset = Revision.objects.none()

    def get_queryset(self) -> QuerySet[Revision]:
        if getattr(self, "swagger_fake_view", False):
            return Revision.objects.none()
        return selectors.revision_list(selectors.policy_get(self.kwargs["name"])).defer("document")

    @extend_schema(
        request=RevisionCreateSerializer,
        parameters=[IF_MATCH],
        responses={201: RevisionDetailSerializer, 200: OpenApiResponse(RevisionDetailSerializer, "Nothing differed.")},
    )
    def post(self, request: ApiRequest, name: str) -> Response:
        """Save a document as the next revision.

        `If-Match` says which revision was edited: 412 where another was saved since, 428 where it is missing.
        Where the text is that of the newest revision, that one is answered with 200.
        """
        data = _validated(RevisionCreateSerializer, request.data)
        policy = selectors.policy_get(name)
        revision = services.revision_save(
            policy=policy,
            document=data["document"],
            comment=data["comment"],
            expected=expected(request, policy.newest),
            author=request.user,
        )
        return _revision_answer(request, revision, status=201 if revision.number > policy.newest else 200)


class RevisionDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=RevisionDetailSerializer)
    def get(self, request: ApiRequest, name: str, number: int) -> Response:
        """One revision with its document; the ETag is its number."""
        return _revision_answer(request, selectors.revision_get(selectors.policy_get(name), number))


class RevisionDocument(APIView):
    action_required = Action.VIEW

    @extend_schema(responses={(200, "application/yaml"): OpenApiTypes.OBJECT})
    def get(self, request: ApiRequest, name: str, number: int) -> HttpResponse:
        """The document as kube-scheduler's `--config` takes it: YAML as it was saved, comments and all."""
        return document_response(selectors.revision_get(selectors.policy_get(name), number))


class RevisionRestore(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(
        request=None,
        parameters=[IF_MATCH],
        responses={201: RevisionDetailSerializer, 200: OpenApiResponse(RevisionDetailSerializer, "Nothing differed.")},
    )
    def post(self, request: ApiRequest, name: str, number: int) -> Response:
        """Save what an older revision said as the next revision."""
        policy = selectors.policy_get(name)
        revision = services.revision_restore(
            policy=policy, number=number, expected=expected(request, policy.newest), author=request.user
        )
        return _revision_answer(request, revision, status=201 if revision.number > policy.newest else 200)


class PolicyDiff(APIView):
    action_required = Action.VIEW

    @extend_schema(
        parameters=[
            OpenApiParameter("from", int, description="Left out: the revision before `to`."),
            OpenApiParameter("to", int, description="Left out: the newest revision."),
        ],
        responses=DiffSerializer,
    )
    def get(self, request: ApiRequest, name: str) -> Response:
        """What differs between two revisions of a policy."""
        policy = selectors.policy_get(name)
        new = selectors.revision_get(policy, _number(request, "to"))
        old = selectors.revision_get(policy, _number(request, "from") or max(new.number - 1, 1))
        body = {
            "old": old.number,
            "new": new.number,
            "changes": diff.changes(check(old.document).loaded, check(new.document).loaded),
            "patch": diff.unified(old.document, new.document, f"{name}-{old.number}.yaml", f"{name}-{new.number}.yaml"),
        }
        return Response(DiffSerializer(body).data)


class PolicyValidate(APIView):
    action_required = Action.VIEW

    @extend_schema(request=ValidateSerializer, responses=VerdictSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Ask whether kube-scheduler would take a document; nothing is saved. 200 for a refused document as well."""
        data = _validated(ValidateSerializer, request.data)
        return Response(verdict(check(data["document"])))


def verdict(checked: Checked) -> dict[str, Any]:
    """The body of an answer about a document."""
    loaded = checked.loaded
    configuration = loaded.configuration if loaded else None
    return {
        "valid": checked.valid,
        "errors": [problem.as_dict() for problem in checked.errors],
        "warnings": [problem.as_dict() for problem in checked.warnings],
        "defaulted": loaded.defaulted if loaded else None,
        "effective": configuration
        and [
            {
                "scheduler_name": profile.scheduler_name,
                "percentage_of_nodes_to_score": profile.percentage_of_nodes_to_score,
                "points": {
                    point: [{"name": plugin.name, "weight": plugin.weight} for plugin in plugins]
                    for point, plugins in profile.points.items()
                },
                "args": profile.args,
            }
            for profile in configuration.profiles
        ],
    }


def _validated(serializer: type[serializers.Serializer[Any]], data: Any) -> Mapping[str, Any]:
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    result: Mapping[str, Any] = checked.validated_data
    return result


def _policy_answer(request: ApiRequest, name: str, status: int = 200) -> Response:
    policy = selectors.policy_get(name)
    headers = {"ETag": f'"{policy.newest}"'}
    if status == 201:
        headers["Location"] = reverse("api:policy", [name], request=request)
    return Response(PolicySerializer(policy).data, status=status, headers=headers)


def _revision_answer(request: ApiRequest, revision: Revision, status: int = 200) -> Response:
    headers = {"ETag": f'"{revision.number}"'}
    if status == 201:
        headers["Location"] = reverse("api:revision", [revision.policy.name, revision.number], request=request)
    return Response(RevisionDetailSerializer(revision).data, status=status, headers=headers)


def _number(request: ApiRequest, key: str) -> int | None:
    text = request.query_params.get(key, "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise serializers.ValidationError({key: "A revision is a whole number."})
    return int(text)


urlpatterns = [
    path("policies/", PolicyList.as_view(), name="policies"),
    path("policies/validate/", PolicyValidate.as_view(), name="policy-validate"),
    path("policies/<slug:name>/", PolicyDetail.as_view(), name="policy"),
    path("policies/<slug:name>/diff/", PolicyDiff.as_view(), name="policy-diff"),
    path("policies/<slug:name>/revisions/", RevisionList.as_view(), name="revisions"),
    path("policies/<slug:name>/revisions/<int:number>/", RevisionDetail.as_view(), name="revision"),
    path("policies/<slug:name>/revisions/<int:number>/document", RevisionDocument.as_view(), name="revision-document"),
    path("policies/<slug:name>/revisions/<int:number>/restore/", RevisionRestore.as_view(), name="revision-restore"),
]
