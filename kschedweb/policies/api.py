"""REST: policies, their revisions, and what kube-scheduler says about a document."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import ReleaseError
from kschedweb.policies import selectors, services
from kschedweb.policies.classic.serializers import PROCESS_HELP, ClassicEffectiveSerializer
from kschedweb.policies.classic.sources import KEY, NAMESPACE, ConfigMapSource
from kschedweb.policies.conversion.api import PolicyConvert
from kschedweb.policies.dialect import CheckedText, PolicyKind
from kschedweb.policies.dialects import DIALECTS, PROFILES, check_either
from kschedweb.policies.download import document_response
from kschedweb.policies.files import with_files
from kschedweb.policies.filters import PolicyFilter
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.profile_comparison.api import RevisionProfiles
from kschedweb.policies.revisions.api import (
    RANGE,
    ChangeSerializer,
    CheckSerializer,
    DocumentField,
    RevisionedSerializer,
    SaveSerializer,
    get_compared_revisions,
    numbered_answer,
    saved_answer,
    saved_as,
)
from kschedweb.policies.revisions.services import UnacceptedWarnings
from kschedweb.policies.revisions.text_diff import unified_patch
from kschedweb.web.errors import ApplicationError
from kschedweb.web.preconditions import IF_MATCH
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.web.errors import FieldProblem


class PolicySerializer(RevisionedSerializer, serializers.ModelSerializer[Policy]):
    """A policy; its documents are its revisions."""

    class Meta:
        model = Policy
        fields = ("name", "kind", "description", "revision", "created_by", "created_at", "changed_at", "changed_by")
        read_only_fields = fields


class RevisionSerializer(serializers.ModelSerializer[Revision]):
    """One saved state of a policy; it never changes."""

    policy = serializers.CharField(source="policy.name", read_only=True)
    author = serializers.CharField(source="author.username", default=None, allow_null=True, read_only=True)
    commit = serializers.CharField(
        source="commit.commit", default=None, allow_null=True, read_only=True, help_text="Of a git repository."
    )
    commit_author = serializers.CharField(source="commit.author", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Revision
        fields: tuple[str, ...] = ("policy", "number", "comment", "author", "commit", "commit_author", "created_at")
        read_only_fields = fields


class ExtenderNoteSerializer(serializers.Serializer[Any]):
    """A reason why a live scheduler cannot run a document that may be saved: an extender that may not be asked."""

    path = serializers.CharField()
    message = serializers.CharField()


class RevisionDetailSerializer(RevisionSerializer):
    process = serializers.DictField(read_only=True, help_text=PROCESS_HELP)
    notes = serializers.SerializerMethodField()

    class Meta(RevisionSerializer.Meta):
        fields = (*RevisionSerializer.Meta.fields, "document", "process", "notes")
        read_only_fields = fields

    @extend_schema_field(ExtenderNoteSerializer(many=True))
    def get_notes(self, revision: Revision) -> list[FieldProblem]:
        return revision.checked().notes


class SourceSerializer(serializers.Serializer[Any]):
    """A ConfigMap of a connected cluster, read now with the cluster's credentials."""

    cluster = serializers.CharField(max_length=63)
    namespace = serializers.CharField(max_length=63, required=False, default=NAMESPACE)
    name = serializers.CharField(max_length=253)
    key = serializers.CharField(max_length=253, required=False, default=KEY)


class PolicyCreateSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=63, help_text=services.NAME_HELP)
    description = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)
    document = DocumentField(required=False, help_text="The first revision. Left out: kube-scheduler's defaults.")
    copy_of = serializers.CharField(required=False, help_text="In place of a document: the policy to start from.")
    source = SourceSerializer(  # type: ignore[assignment]
        required=False, help_text="In place of a document: the ConfigMap that holds it."
    )
    process = serializers.DictField(required=False, help_text=PROCESS_HELP)
    comment = serializers.CharField(max_length=500, required=False, default="", allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        sources = [name for name in ("document", "copy_of", "source") if name in attrs]
        if len(sources) > 1:
            message = "Give one of a document, a policy to copy and a ConfigMap."
            raise serializers.ValidationError({sources[1]: message})
        return attrs


class PolicyPatchSerializer(serializers.Serializer[Any]):
    description = serializers.CharField(max_length=500, allow_blank=True)


class RevisionCreateSerializer(SaveSerializer):
    accept_warnings = serializers.BooleanField(default=False, help_text="Save it in spite of its warnings.")
    process = serializers.DictField(required=False, help_text=f"{PROCESS_HELP} Left out, it stays as it is.")


class ValidateSerializer(CheckSerializer):
    process = serializers.DictField(required=False, help_text=PROCESS_HELP)


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
    """The verdict of kube-scheduler on a document of either kind.

    `defaulted` and `effective` are null where it refuses it and for classic policies, `classic` for the others.
    `release` is the kube-scheduler that was asked.
    """

    kind = serializers.ChoiceField(choices=PolicyKind.choices)
    valid = serializers.BooleanField()
    errors = PlacedProblemSerializer(many=True)  # type: ignore[assignment]
    warnings = PlacedProblemSerializer(many=True)
    notes = ExtenderNoteSerializer(many=True)
    release = serializers.CharField(allow_null=True, help_text="Of kube-scheduler; null where it refuses it.")
    defaulted = serializers.DictField(allow_null=True)
    effective = EffectiveProfileSerializer(many=True, allow_null=True)
    classic = ClassicEffectiveSerializer(allow_null=True)


class DiffSerializer(serializers.Serializer[Any]):
    old = serializers.IntegerField(help_text="Revision that is compared from.")
    new = serializers.IntegerField()
    changes = ChangeSerializer(many=True, help_text="What kube-scheduler would do otherwise.")
    patch = serializers.CharField(help_text="The lines that differ, as `diff -u` writes them.")


class PolicyList(IdempotencyMixin, generics.ListAPIView[Policy]):
    """The policies by name."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    of_site = True
    serializer_class = PolicySerializer
    filterset_class = PolicyFilter
    queryset = selectors.policy_list().select_related("created_by")

    @extend_schema(request=PolicyCreateSerializer, responses={201: PolicySerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a policy with its revision 1."""
        data = validate_input(PolicyCreateSerializer, request.data)
        document, process = data.get("document", services.DEFAULT_DOCUMENT), data.get("process")
        if "copy_of" in data:
            copied = selectors.revision_get(selectors.policy_get(data["copy_of"]))
            document, process = copied.document, copied.process if process is None else process
        source = ConfigMapSource(**data["source"]) if "source" in data else None
        policy = services.policy_create(
            name=data["name"],
            description=data["description"],
            document=source.read_document() if source else document,
            process=process,
            source=str(source or ""),
            comment=data["comment"],
            author=request.user,
        )
        return _policy_answer(request, policy.name, created=True)


class PolicyDetail(APIView):
    action_required = {"GET": Action.VIEW, "PATCH": Action.EDIT, "DELETE": Action.EDIT}
    of_site = True

    @extend_schema(responses=PolicySerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """One policy; the ETag is the number of its newest revision."""
        return _policy_answer(request, name)

    @extend_schema(request=PolicyPatchSerializer, responses=PolicySerializer)
    def patch(self, request: ApiRequest, name: str) -> Response:
        """Change the description; the document is changed by a new revision."""
        data = validate_input(PolicyPatchSerializer, request.data)
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
    of_site = True
    serializer_class = RevisionSerializer
    filter_backends = ()
    queryset = Revision.objects.none()

    def get_queryset(self) -> QuerySet[Revision]:
        return selectors.revision_list(selectors.policy_get(self.kwargs["name"])).defer("document")

    @extend_schema(
        request=RevisionCreateSerializer, parameters=[IF_MATCH], responses=saved_as(RevisionDetailSerializer)
    )
    def post(self, request: ApiRequest, name: str) -> Response:
        """Save a document as the next revision.

        `If-Match` says which revision was edited: 412 where another was saved since, 428 where it is missing.
        Where the text is that of the newest revision, that one is answered with 200. A valid document with warnings
        that the newest revision does not have is answered with 422 and these; `accept_warnings` saves it.
        """
        data = validate_input(RevisionCreateSerializer, request.data)
        policy = selectors.policy_get(name)
        store = partial(
            services.revision_save,
            policy=policy,
            document=data["document"],
            process=data.get("process"),
            comment=data["comment"],
            author=request.user,
            accepted_warnings=None if data["accept_warnings"] else (),
        )
        try:
            return saved_answer(request, policy.newest, store, _revision_answer)
        except UnacceptedWarnings as error:
            error.detail += " Send `accept_warnings: true` to save it with them."
            raise


class RevisionDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=RevisionDetailSerializer)
    def get(self, request: ApiRequest, name: str, number: int) -> Response:
        """One revision with its document; the ETag is its number."""
        return _revision_answer(request, selectors.revision_get(selectors.policy_get(name), number))


class RevisionDocument(APIView):
    action_required = Action.VIEW

    @extend_schema(
        responses={(200, "application/yaml"): OpenApiTypes.OBJECT, (200, "application/json"): OpenApiTypes.OBJECT}
    )
    def get(self, request: ApiRequest, name: str, number: int) -> HttpResponse:
        """The document as it was saved, comments and all: what kube-scheduler's `--config` takes.

        A classic policy is what `--policy-config-file` took.
        """
        return document_response(selectors.revision_get(selectors.policy_get(name), number))


class RevisionRestore(IdempotencyMixin, APIView):
    action_required = Action.EDIT
    of_site = True

    @extend_schema(request=None, parameters=[IF_MATCH], responses=saved_as(RevisionDetailSerializer))
    def post(self, request: ApiRequest, name: str, number: int) -> Response:
        """Save what an older revision said as the next revision."""
        policy = selectors.policy_get(name)
        store = partial(services.revision_restore, policy=policy, number=number, author=request.user)
        return saved_answer(request, policy.newest, store, _revision_answer)


class PolicyDiff(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=RANGE, responses=DiffSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The differences between two revisions of a policy."""
        policy = selectors.policy_get(name)
        old, new = get_compared_revisions(request, partial(selectors.revision_get, policy))
        body = {
            "old": old.number,
            "new": new.number,
            "changes": selectors.revision_changes(old, new),
            "patch": unified_patch(
                old.document, new.document, f"{name}-{old.number}.yaml", f"{name}-{new.number}.yaml"
            ),
        }
        return Response(DiffSerializer(body).data)


class PolicyValidate(APIView):
    action_required = Action.VIEW

    @extend_schema(request=ValidateSerializer, responses=VerdictSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Ask whether kube-scheduler would take a document of either kind.

        Nothing is saved; a refused document is answered with 200 as well.
        """
        data = validate_input(ValidateSerializer, request.data)
        process = with_files(data["document"], data.get("process") or {})
        return Response(render_verdict(check_either(data["document"], process)))


class PolicySchema(APIView):
    action_required = Action.VIEW

    @extend_schema(
        parameters=[
            OpenApiParameter("release", str, description="Of kube-scheduler, as 1.35; left out, the current one."),
            OpenApiParameter("kind", str, enum=list(DIALECTS), description="Of policies; left out, profiles."),
        ],
        responses=OpenApiTypes.OBJECT,
    )
    def get(self, request: ApiRequest) -> Response:
        """The JSON Schema of the profiles of a release: its plugins, their arguments and its extension points.

        With `kind` that of another kind of policy.
        """
        kind = request.query_params.get("kind", "")
        if kind and kind not in DIALECTS:
            raise ApplicationError.at("kind", f"Choose one of {', '.join(DIALECTS)}.")
        if kind not in ("", PROFILES.kind):
            return Response(DIALECTS[kind].schema({}))
        try:
            return Response(PROFILES.schema({"release": request.query_params.get("release", "")}))
        except ReleaseError as error:
            raise ApplicationError.at("release", str(error)) from None


def render_verdict(checked: CheckedText) -> Json:
    """The body of an answer about a document."""
    return {
        "kind": checked.kind,
        "valid": checked.valid,
        "errors": [problem.as_dict() for problem in checked.errors],
        "warnings": [problem.as_dict() for problem in checked.warnings],
        **DIALECTS[checked.kind].render_effective(checked),
    }


def _policy_answer(request: ApiRequest, name: str, *, created: bool = False) -> Response:
    policy = selectors.policy_get(name)
    address = "api:policy" if created else ""
    return numbered_answer(request, PolicySerializer(policy).data, policy.newest, address, [name])


def _revision_answer(request: ApiRequest, revision: Revision, *, created: bool = False) -> Response:
    body, address = RevisionDetailSerializer(revision).data, "api:revision" if created else ""
    return numbered_answer(request, body, revision.number, address, [revision.policy.name, revision.number])


urlpatterns = [
    path("policies/", PolicyList.as_view(), name="policies"),
    path("policy-schema/", PolicySchema.as_view(), name="policy-schema"),
    path("policies/validate/", PolicyValidate.as_view(), name="policy-validate"),
    path("policies/<slug:name>/", PolicyDetail.as_view(), name="policy"),
    path("policies/<slug:name>/convert/", PolicyConvert.as_view(), name="policy-convert"),
    path("policies/<slug:name>/diff/", PolicyDiff.as_view(), name="policy-diff"),
    path("policies/<slug:name>/revisions/", RevisionList.as_view(), name="revisions"),
    path("policies/<slug:name>/revisions/<int:number>/", RevisionDetail.as_view(), name="revision"),
    path("policies/<slug:name>/revisions/<int:number>/document", RevisionDocument.as_view(), name="revision-document"),
    path("policies/<slug:name>/revisions/<int:number>/profiles/", RevisionProfiles.as_view(), name="revision-profiles"),
    path("policies/<slug:name>/revisions/<int:number>/restore/", RevisionRestore.as_view(), name="revision-restore"),
]
