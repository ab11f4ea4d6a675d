"""REST views of the gate: whether a policy may ship."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import Http404
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, parsers
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.importing.documents import TextLimits, documents_read, text_decode
from kschedweb.clusters.importing.imports import DEPTH, most_values
from kschedweb.decisions.selectors import revision_asked
from kschedweb.engine.config import Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import ReleaseError
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import ALL
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import thresholds
from kschedweb.playground.gate import selectors, services
from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.invocation import about_scenario, about_snapshot
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.gate.renderers import RENDERERS, JUnitRenderer, MarkdownRenderer, TextXMLRenderer
from kschedweb.playground.gate.serializers import (
    GateAskSerializer,
    GateSerializer,
    GateVerdictSerializer,
    GateWaitsSerializer,
)
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.playground.scenarios.uploads import unpack_text
from kschedweb.policies.dialects import PROFILES, process_of_text
from kschedweb.policies.files import with_files
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.validation import requested_release
from kschedweb.web.errors import ApplicationError, NotFound, TooLarge
from kschedweb.web.parsers import StrictJSONParser
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.renderers import BaseRenderer
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest

# Limits of a thresholds file.
SMALL = TextLimits(size=64 * 1024, depth=20, nodes=2_000)
# Seconds until it makes sense to ask again.
ACCEPTED, RETRY_AFTER = 202, "2"
# Parts of a form that may be files.
FILES = ("policy", "baseline", "objects", "thresholds")
ANSWERS: dict[Any, Any] = {(200, "application/json"): GateVerdictSerializer}
ANSWERS |= {
    (200, renderer.media_type): OpenApiTypes.STR for renderer in (JUnitRenderer, TextXMLRenderer, MarkdownRenderer)
}
ANSWERS |= {(202, "application/json"): GateWaitsSerializer}
FORM = {
    "type": "object",
    "properties": {
        "request": {"type": "string", "description": "The JSON body, without what the files hold."},
        **{name: {"type": "string", "format": "binary"} for name in FILES},
    },
}


class _Verdicts(APIView):
    """Answers with a verdict in the form that is accepted, or with 202 in JSON while there is none."""

    renderer_classes = RENDERERS

    def verdict_response(self, gate: Gate) -> Response:
        verdict = selectors.get_verdict(gate)
        if verdict is not None:
            return Response(verdict)
        waits = {"id": gate.pk, "state": gate.state, "job": gate.job_id}
        return Response(GateWaitsSerializer(waits).data, status=ACCEPTED)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Set Location and Retry-After, also on an answer that is repeated for the same idempotency key.

        OPTIONS describes the view and has no id, so it gets no Location.
        """
        if response.status_code < 400 and isinstance(response.data, dict) and "id" in response.data:
            response["Location"] = reverse("api:gate-verdict", args=[response.data["id"]], request=request)
        if response.status_code == ACCEPTED:
            response["Retry-After"] = RETRY_AFTER
            # There is no verdict yet that could be JUnit or Markdown.
            request.accepted_renderer = JSONRenderer()
            request.accepted_media_type = JSONRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


class GateList(IdempotencyMixin, _Verdicts, generics.ListAPIView[Gate]):
    """The questions of the last 90 days, newest first."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    parser_classes = (StrictJSONParser, parsers.MultiPartParser)
    serializer_class = GateSerializer
    filterset_class = GateFilter
    queryset = Gate.objects.none()

    def get_renderers(self) -> list[BaseRenderer]:
        """A list is JSON; a verdict has several forms."""
        return super().get_renderers() if self.request.method == "POST" else [JSONRenderer()]

    def get_queryset(self) -> QuerySet[Gate]:
        return selectors.gate_list(self.request.user).defer("verdict")  # type: ignore[arg-type]

    @extend_schema(
        operation_id="gate_ask",
        request={"application/json": GateAskSerializer, "multipart/form-data": FORM},
        responses=ANSWERS,
    )
    def post(self, request: ApiRequest) -> Response:
        """Hold a policy against a baseline on a cluster, and judge by thresholds.

        `Accept` chooses between JSON, JUnit (`application/xml`) and Markdown (`text/markdown`). Where the number of
        nodes times that of pods is at most 1,000,000, the answer comes at once, within 3 s; all else answers 202.
        """
        question = _parse_request(request)
        return self.verdict_response(services.gate_ask(user=request.user, question=question))


class GateVerdict(_Verdicts):
    action_required = Action.VIEW

    @extend_schema(operation_id="gate_verdict", responses=ANSWERS)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One verdict, in the form that `Accept` chooses; 202 while it is worked out."""
        return self.verdict_response(selectors.gate_get(request.user, id))


def _parse_request(request: ApiRequest) -> services.GateRequest:
    data = validate_input(GateAskSerializer, _merge_files(request))
    try:
        limits = thresholds.read_thresholds(data.get("thresholds"))
    except ScenarioError as error:
        raise _invalid_input(error) from None
    build_request = partial(services.GateRequest, thresholds=limits, seed=data["seed"])
    if "scenario" in data:
        revision = selectors.scenario_of(request.user, data["scenario"]["id"], data["scenario"].get("revision"))
        policies = _parse_policies(data, cluster_version(revision))
        return build_request(*policies, subject=about_scenario(revision), revision=revision)
    source, place = data["snapshot"], data.get("place", ALL)
    if source["cluster"]:
        snapshot = selectors.snapshot_of(source["cluster"], str(source.get("id") or ""))
        policies = _parse_policies(data, snapshot.cluster.server_version)
        return build_request(*policies, subject=about_snapshot(snapshot), snapshot=snapshot, place=place)
    objects, subject = _parse_objects(source["objects"]), source["label"] or "the objects sent"
    return build_request(*_parse_policies(data, ""), subject=subject, objects=objects, place=place)


def _parse_policies(data: Json, version: str) -> tuple[engine.GatePolicy, engine.GatePolicy]:
    """Return the policy and its baseline, on a cluster of ``version``."""
    policy = _parse_policy(data["policy"], version, "policy")
    if "baseline" in data:
        return policy, _parse_policy(data["baseline"], version, "baseline")
    # The defaults of the policy's own release, so that the verdict is about the policy alone.
    return policy, engine.GatePolicy(engine.DEFAULTS, release=policy.release)


def _parse_policy(fields: Json, version: str, path: str) -> engine.GatePolicy:
    if fields["document"]:
        process = process_of_text(fields["document"])
        process = process or PROFILES.process_on_version(with_files(fields["document"], {}), version)
        return engine.GatePolicy(fields["label"] or path, fields["document"], _parse_release(fields, process, path))
    try:
        revision = revision_asked(fields["name"], str(fields.get("revision") or ""), f"{path}.name")
    except (Http404, NotFound) as error:
        raise selectors.missing_error(f"{path}.name", error) from None
    release = _parse_release(fields, process_of_run(revision, version), path)
    return engine.GatePolicy(f"{revision.policy.name}@{revision.number}", revision.document, release)


def _parse_release(fields: Json, process: Json, path: str) -> Release:
    """Return the requested release, or else that of ``process``."""
    try:
        return requested_release(process, fields["release"], fields["feature_gates"])
    except ReleaseError as error:
        raise ApplicationError.at(f"{path}.{str(error).partition(':')[0]}", str(error)) from None


def _parse_objects(raw: Any) -> list[Json]:
    try:
        return engine.read_objects(raw if isinstance(raw, list) else [raw])
    except ScenarioError as error:
        raise _invalid_input(error, "snapshot.objects") from None


# A form with files.


def _merge_files(request: ApiRequest) -> Any:
    """Return the JSON body; for a form, its part ``request`` with the contents of the files."""
    if not (request.content_type or "").startswith("multipart/"):
        return request.data
    data: Any = request.data
    body = _parse_json(data.get("request") or "{}")
    for name in FILES:
        file = request.FILES.get(name)
        if file is None:
            continue
        # One byte beyond the limit is enough to see that the file is too large.
        content = file.read(settings.UPLOAD_LIMIT + 1)
        if len(content) > settings.UPLOAD_LIMIT:
            raise TooLarge(f"{name}: the file is larger than this server allows.")
        label = str(file.name or name)[:120]
        try:
            body |= _of_file(body, name, label, unpack_text(label, content, settings.UPLOAD_LIMIT))
        except ApplicationError as error:
            errors = [{"path": name, "message": error.detail}]
            raise ApplicationError(f"{label}: {error.detail}", errors=errors, status=error.status) from None  # type: ignore[arg-type]
    return body


def _of_file(body: Json, name: str, label: str, content: bytes) -> Json:
    if name == "objects":
        snapshot = _get_object(body, "snapshot")
        objects = documents_read(
            content, TextLimits(size=settings.UPLOAD_LIMIT, depth=DEPTH, nodes=most_values(settings.UPLOAD_LIMIT))
        )
        return {"snapshot": {**snapshot, "objects": objects, "label": snapshot.get("label") or label}}
    if name == "thresholds":
        return {name: documents_read(content, SMALL)[0]}
    return {name: {"label": label, "document": text_decode(content), **_get_object(body, name)}}


def _get_object(body: Json, name: str) -> Json:
    value = body.get(name)
    return value if isinstance(value, dict) else {}


def _parse_json(text: Any) -> Json:
    try:
        body = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        message = f"is not JSON: {error}"
        raise ApplicationError(f"request: {message}.", errors=[{"path": "request", "message": message}]) from None
    if not isinstance(body, dict):
        message = "must be a JSON object"
        raise ApplicationError(f"request: {message}.", errors=[{"path": "request", "message": message}])
    return body


def _invalid_input(error: ScenarioError, path: str = "") -> ApplicationError:
    problems = [{"path": path or problem.path, "message": problem.text[:1000]} for problem in error.problems]
    return ApplicationError("The input is not valid.", errors=problems)  # type: ignore[arg-type]


urlpatterns = [
    path("gate/", GateList.as_view(), name="gate"),
    path("gate/<uuid:id>/", GateVerdict.as_view(), name="gate-verdict"),
]
