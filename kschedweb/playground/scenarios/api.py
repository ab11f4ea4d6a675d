"""REST views of scenarios, their revisions and files, of validation, and of export and import."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, parsers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.playground.scenarios import selectors, services, transfer, uploads
from kschedweb.playground.scenarios.download import export_response
from kschedweb.playground.scenarios.filters import ScenarioFilter
from kschedweb.playground.scenarios.models import Scenario, ScenarioFile, ScenarioRevision
from kschedweb.playground.scenarios.serializers import (
    ScenarioCopySerializer,
    ScenarioCreateSerializer,
    ScenarioDiffSerializer,
    ScenarioFileSerializer,
    ScenarioImportedSerializer,
    ScenarioPatchSerializer,
    ScenarioRevisionCreateSerializer,
    ScenarioRevisionDetailSerializer,
    ScenarioRevisionSerializer,
    ScenarioSerializer,
    ScenarioValidateSerializer,
    ScenarioVerdictSerializer,
)
from kschedweb.playground.scenarios.validation import check_scenario
from kschedweb.policies.revisions.api import RANGE, get_compared_revisions, numbered_answer, saved_answer, saved_as
from kschedweb.policies.revisions.text_diff import unified_patch
from kschedweb.web.pages import page_part
from kschedweb.web.preconditions import IF_MATCH, expected_revision, if_match
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest

# Key of the parsed data that holds the body as a stream.
RAW = "\0body"


class ScenarioList(IdempotencyMixin, generics.ListAPIView[Scenario]):
    """The scenarios that you may read, by name."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = ScenarioSerializer
    filterset_class = ScenarioFilter
    queryset = Scenario.objects.none()

    def get_queryset(self) -> QuerySet[Scenario]:
        return selectors.scenario_list(self.request.user)  # type: ignore[arg-type]

    @extend_schema(request=ScenarioCreateSerializer, responses={201: ScenarioSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a scenario with its revision 1."""
        data = validate_input(ScenarioCreateSerializer, request.data)
        scenario = services.scenario_create(
            text=data["document"], comment=data["comment"], shared=data["shared"], author=request.user
        )
        return _scenario_answer(request, scenario.pk, is_created=True)


class ScenarioDetail(APIView):
    action_required = {"GET": Action.VIEW, "PATCH": Action.EDIT, "DELETE": Action.EDIT}

    @extend_schema(responses=ScenarioSerializer)
    def get(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """One scenario; the ETag is the number of its newest revision."""
        return _scenario_answer(request, scenario_id)

    @extend_schema(request=ScenarioPatchSerializer, parameters=[if_match(required=False)], responses=ScenarioSerializer)
    def patch(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """Share a scenario or not, and rename it; a new name needs `If-Match`, since it makes a revision."""
        data = validate_input(ScenarioPatchSerializer, request.data)
        scenario = selectors.scenario_get(request.user, scenario_id)
        if "name" in data:
            number = expected_revision(request, scenario.newest)
            services.scenario_rename(scenario=scenario, name=data["name"], expected=number, author=request.user)
        if "shared" in data:
            services.scenario_share(scenario=scenario, shared=data["shared"], author=request.user)
        return _scenario_answer(request, scenario_id)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """Delete a scenario with its revisions and files; 409 while there are runs of it."""
        services.scenario_delete(scenario=selectors.scenario_get(request.user, scenario_id), author=request.user)
        return Response(status=204)


class ScenarioCopy(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=ScenarioCopySerializer, responses={201: ScenarioSerializer})
    def post(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """Make a scenario of your own that begins with what this one says."""
        data = validate_input(ScenarioCopySerializer, request.data)
        scenario = selectors.scenario_get(request.user, scenario_id)
        revision = selectors.revision_get(scenario, data.get("revision"))
        copy = services.scenario_copy(revision=revision, name=data["name"], author=request.user)
        return _scenario_answer(request, copy.pk, is_created=True)


class ScenarioRevisionList(IdempotencyMixin, generics.ListAPIView[ScenarioRevision]):
    """The revisions of a scenario, newest first, without their documents."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = ScenarioRevisionSerializer
    filter_backends = ()
    queryset = ScenarioRevision.objects.none()

    def get_queryset(self) -> QuerySet[ScenarioRevision]:
        scenario = selectors.scenario_get(self.request.user, self.kwargs["scenario_id"])  # type: ignore[arg-type]
        return selectors.revision_list(scenario).defer("text")

    @extend_schema(
        request=ScenarioRevisionCreateSerializer,
        parameters=[IF_MATCH],
        responses=saved_as(ScenarioRevisionDetailSerializer),
    )
    def post(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """Save a document as the next revision.

        `If-Match` says which revision was edited: 412 where another was saved since, 428 where it is missing.
        Where the text is that of the newest revision, that one is answered with 200.
        """
        data = validate_input(ScenarioRevisionCreateSerializer, request.data)
        scenario = selectors.scenario_get(request.user, scenario_id)
        store = partial(
            services.scenario_save,
            scenario=scenario,
            text=data["document"],
            comment=data["comment"],
            author=request.user,
        )
        return saved_answer(request, scenario.newest, store, _revision_answer)


class ScenarioRevisionDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=ScenarioRevisionDetailSerializer)
    def get(self, request: ApiRequest, scenario_id: UUID, number: int) -> Response:
        """One revision with its document; the ETag is its number."""
        scenario = selectors.scenario_get(request.user, scenario_id)
        return _revision_answer(request, selectors.revision_get(scenario, number))


class ScenarioRestore(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, parameters=[IF_MATCH], responses=saved_as(ScenarioRevisionDetailSerializer))
    def post(self, request: ApiRequest, scenario_id: UUID, number: int) -> Response:
        """Save what an older revision said as the next revision."""
        scenario = selectors.scenario_get(request.user, scenario_id)
        store = partial(services.scenario_restore, scenario=scenario, number=number, author=request.user)
        return saved_answer(request, scenario.newest, store, _revision_answer)


@page_part
class ScenarioExport(APIView):
    action_required = Action.VIEW

    @extend_schema(responses={(200, "application/gzip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, scenario_id: UUID, number: int) -> HttpResponse:
        """A revision with its cluster and files as one file, gzipped JSON, which import takes."""
        return export_response(selectors.revision_get(selectors.scenario_get(request.user, scenario_id), number))


class ScenarioDiff(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=RANGE, responses=ScenarioDiffSerializer)
    def get(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """The differences between two revisions of a scenario."""
        scenario = selectors.scenario_get(request.user, scenario_id)
        old, new = get_compared_revisions(request, partial(selectors.revision_get, scenario))
        patch = unified_patch(old.text, new.text, f"revision {old.number}", f"revision {new.number}")
        return Response(ScenarioDiffSerializer({"old": old.number, "new": new.number, "patch": patch}).data)


class ScenarioValidate(APIView):
    action_required = Action.VIEW

    @extend_schema(request=ScenarioValidateSerializer, responses=ScenarioVerdictSerializer)
    def post(self, request: ApiRequest) -> Response:
        """Ask what is wrong with a document; nothing is saved. 200 for a refused document as well."""
        checked = check_scenario(validate_input(ScenarioValidateSerializer, request.data)["document"])
        problems_by_kind = {"errors": checked.problems, "warnings": checked.warnings}
        lists = {name: [problem.as_dict() for problem in problems] for name, problems in problems_by_kind.items()}
        return Response({"valid": checked.valid, **lists})


class RawFile(parsers.BaseParser):
    """A body that is the file itself; what it holds is found out by reading it."""

    media_type = "*/*"

    # The stream is not read here: receive_file reads it within the limit.
    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, object]:
        return {RAW: stream}


class ScenarioImport(IdempotencyMixin, APIView):
    action_required = Action.EDIT
    parser_classes = (RawFile,)

    @extend_schema(
        request={"application/gzip": OpenApiTypes.BINARY, "application/yaml": OpenApiTypes.STR},
        responses={201: ScenarioImportedSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Make a scenario of an exported file, or of a document of kind Scenario; a taken name gets a number."""
        with uploads.receive_file(_get_body(request), settings.UPLOAD_LIMIT) as content:
            imported = transfer.read_export("The body", content, limit=settings.UPLOAD_LIMIT)
            scenario = services.scenario_import(imported=imported, author=request.user)
        answer = _scenario_answer(request, scenario.pk, is_created=True)
        answer.data["remarks"] = imported.all_remarks
        return answer


class ScenarioFileList(IdempotencyMixin, generics.ListAPIView[ScenarioFile]):
    """The files of a scenario, by name."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = ScenarioFileSerializer
    filter_backends = ()
    queryset = ScenarioFile.objects.none()
    parser_classes = (RawFile,)

    def get_queryset(self) -> QuerySet[ScenarioFile]:
        scenario = selectors.scenario_get(self.request.user, self.kwargs["scenario_id"])  # type: ignore[arg-type]
        return selectors.file_list(scenario)

    @extend_schema(
        parameters=[OpenApiParameter("name", str, required=True, description="By which documents name it.")],
        request={"text/csv": OpenApiTypes.STR, "application/gzip": OpenApiTypes.BINARY},
        responses={201: ScenarioFileSerializer},
    )
    def post(self, request: ApiRequest, scenario_id: UUID) -> Response:
        """Keep a file: the body is its text in UTF-8, perhaps gzipped. The same content again changes nothing."""
        scenario = selectors.scenario_get(request.user, scenario_id)
        name = request.query_params.get("name", "")
        with uploads.receive_file(_get_body(request), settings.UPLOAD_LIMIT) as content:
            upload = uploads.read_upload(name, content, limit=settings.UPLOAD_LIMIT)
            row = services.file_add(scenario=scenario, upload=upload, author=request.user)
        location = reverse("api:scenario-file", [scenario.pk, row.name], request=request)
        return Response(ScenarioFileSerializer(row).data, status=201, headers={"Location": location})


class ScenarioFileDetail(APIView):
    action_required = {"GET": Action.VIEW, "DELETE": Action.EDIT}

    @extend_schema(responses=ScenarioFileSerializer)
    def get(self, request: ApiRequest, scenario_id: UUID, name: str) -> Response:
        """A file of a scenario; its text is part of the export."""
        file = selectors.file_get(selectors.scenario_get(request.user, scenario_id), name)
        return Response(ScenarioFileSerializer(file).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, scenario_id: UUID, name: str) -> Response:
        """Delete a file; 409 where a revision reads it."""
        scenario = selectors.scenario_get(request.user, scenario_id)
        services.file_delete(scenario=scenario, name=name, author=request.user)
        return Response(status=204)


def _get_body(request: ApiRequest) -> IO[bytes]:
    """Return the body as a stream; it is empty if the request has no body, since no parser runs then."""
    data: Any = request.data
    return data.get(RAW) or BytesIO()


def _scenario_answer(request: ApiRequest, scenario_id: UUID, *, is_created: bool = False) -> Response:
    scenario = selectors.scenario_get(request.user, scenario_id)
    address = "api:scenario" if is_created else ""
    return numbered_answer(request, ScenarioSerializer(scenario).data, scenario.newest, address, [scenario.pk])


def _revision_answer(request: ApiRequest, revision: ScenarioRevision, *, created: bool = False) -> Response:
    body, address = ScenarioRevisionDetailSerializer(revision).data, "api:scenario-revision" if created else ""
    return numbered_answer(request, body, revision.number, address, [revision.scenario_id, revision.number])


_DETAIL_PATH = "scenarios/<uuid:scenario_id>/"
urlpatterns = [
    path("scenarios/", ScenarioList.as_view(), name="scenarios"),
    path("scenarios/validate/", ScenarioValidate.as_view(), name="scenario-validate"),
    path("scenarios/import/", ScenarioImport.as_view(), name="scenario-import"),
    path(_DETAIL_PATH, ScenarioDetail.as_view(), name="scenario"),
    path(f"{_DETAIL_PATH}copy/", ScenarioCopy.as_view(), name="scenario-copy"),
    path(f"{_DETAIL_PATH}diff/", ScenarioDiff.as_view(), name="scenario-diff"),
    path(f"{_DETAIL_PATH}files/", ScenarioFileList.as_view(), name="scenario-files"),
    path(f"{_DETAIL_PATH}files/<str:name>/", ScenarioFileDetail.as_view(), name="scenario-file"),
    path(f"{_DETAIL_PATH}revisions/", ScenarioRevisionList.as_view(), name="scenario-revisions"),
    path(f"{_DETAIL_PATH}revisions/<int:number>/", ScenarioRevisionDetail.as_view(), name="scenario-revision"),
    path(f"{_DETAIL_PATH}revisions/<int:number>/export/", ScenarioExport.as_view(), name="scenario-export"),
    path(f"{_DETAIL_PATH}revisions/<int:number>/restore/", ScenarioRestore.as_view(), name="scenario-restore"),
]
