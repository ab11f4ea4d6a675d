"""REST: whether a policy may ship."""

from __future__ import annotations

import json
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
from kschedweb.clusters.importing.documents import Limits, documents_read, text_decode
from kschedweb.clusters.importing.imports import DEPTH, most_values
from kschedweb.decisions.selectors import revision_asked
from kschedweb.engine.config import Release
from kschedweb.engine.releases import ReleaseError
from kschedweb.engine.studies.document.document import DocumentError
from kschedweb.engine.studies.document.parts import ALL
from kschedweb.engine.studies.gate import gate as engine
from kschedweb.engine.studies.gate import thresholds
from kschedweb.playground.gate import selectors, services
from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.gate.renderers import RENDERERS, JUnitRenderer, MarkdownRenderer, TextXMLRenderer
from kschedweb.playground.gate.serializers import (
    GateAskSerializer,
    GateSerializer,
    GateVerdictSerializer,
    GateWaitsSerializer,
)
from kschedweb.playground.gate.words import about_scenario, about_snapshot
from kschedweb.playground.scenarios.selectors import cluster_version
from kschedweb.playground.scenarios.uploads import unpacked
from kschedweb.policies.files import with_files
from kschedweb.policies.kinds import PROFILES, process_of_text
from kschedweb.policies.selectors import process_of_run
from kschedweb.policies.validation import release_asked
from kschedweb.web.errors import ApplicationError, NotFound, TooLarge
from kschedweb.web.parsers import StrictJSONParser
from kschedweb.web.rest import IdempotencyMixin, validated

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.renderers import BaseRenderer
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest

SMALL = Limits(size=64 * 1024, depth=20, nodes=2_000)  # thresholds
ACCEPTED, AGAIN = 202, "2"  # seconds until it makes sense to ask again
FILES = ("policy", "baseline", "objects", "thresholds")
ANSWERS: dict[Any, Any] = {(200, "application/json"): GateVerdictSerializer}
ANSWERS |= {(200, one.media_type): OpenApiTypes.STR for one in (JUnitRenderer, TextXMLRenderer, MarkdownRenderer)}
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

    def verdict(self, gate: Gate) -> Response:
        found = selectors.verdict(gate)
        if found is not None:
            return Response(found)
        waits = {"id": gate.pk, "state": gate.state, "job": gate.job_id}
        return Response(GateWaitsSerializer(waits).data, status=ACCEPTED)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Also of an answer that is given again: it leads to the verdict. (OPTIONS tells of the view, and of none.)"""
        if response.status_code < 400 and isinstance(response.data, dict) and "id" in response.data:
            response["Location"] = reverse("api:gate-verdict", args=[response.data["id"]], request=request)
        if response.status_code == ACCEPTED:
            response["Retry-After"] = AGAIN
            request.accepted_renderer = JSONRenderer()
            request.accepted_media_type = JSONRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


class GateList(IdempotencyMixin, _Verdicts, generics.ListAPIView[Gate]):
    """What was asked, newest first, of the last 90 days."""

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
        question = _question(request)
        return self.verdict(services.gate_ask(user=request.user, question=question))


class GateVerdict(_Verdicts):
    action_required = Action.VIEW

    @extend_schema(operation_id="gate_verdict", responses=ANSWERS)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One verdict, in the form that `Accept` chooses; 202 while it is worked out."""
        return self.verdict(selectors.gate_get(request.user, id))


def _question(request: ApiRequest) -> services.GateRequest:
    data = validated(GateAskSerializer, _merged(request))
    try:
        limits = thresholds.read(data.get("thresholds"))
    except DocumentError as error:
        raise _invalid(error) from None
    given: dict[str, Any] = {"thresholds": limits, "seed": data["seed"]}
    if "scenario" in data:
        revision = selectors.scenario_of(request.user, data["scenario"]["id"], data["scenario"].get("revision"))
        policies = _policies(data, cluster_version(revision))
        return services.GateRequest(*policies, **given, about=about_scenario(revision), revision=revision)
    asked, given["place"] = data["snapshot"], data.get("place", ALL)
    if asked["cluster"]:
        snapshot = selectors.snapshot_of(asked["cluster"], str(asked.get("id") or ""))
        policies = _policies(data, snapshot.cluster.server_version)
        return services.GateRequest(*policies, **given, about=about_snapshot(snapshot), snapshot=snapshot)
    objects, about = _objects(asked["objects"]), asked["label"] or "the objects sent"
    return services.GateRequest(*_policies(data, ""), **given, about=about, objects=objects)


def _policies(data: dict[str, Any], version: str) -> tuple[engine.Policy, engine.Policy]:
    """The policy and its baseline, on a cluster of ``version``."""
    policy = _policy(data["policy"], version, "policy")
    if "baseline" in data:
        return policy, _policy(data["baseline"], version, "baseline")
    return policy, engine.Policy(engine.DEFAULTS, release=policy.release)


def _policy(asked: dict[str, Any], version: str, path: str) -> engine.Policy:
    if asked["document"]:
        process = process_of_text(asked["document"])
        process = process or PROFILES.started(with_files(asked["document"], {}), version)
        return engine.Policy(asked["label"] or path, asked["document"], _release(asked, process, path))
    try:
        revision = revision_asked(asked["name"], str(asked.get("revision") or ""), f"{path}.name")
    except (Http404, NotFound) as error:
        raise selectors.missing(f"{path}.name", error) from None
    release = _release(asked, process_of_run(revision, version), path)
    return engine.Policy(f"{revision.policy.name}@{revision.number}", revision.document, release)


def _release(asked: dict[str, Any], process: dict[str, Any], path: str) -> Release:
    """The release that is asked for, else that of ``process``."""
    try:
        return release_asked(process, asked["release"], asked["feature_gates"])
    except ReleaseError as error:
        raise ApplicationError.at(f"{path}.{str(error).partition(':')[0]}", str(error)) from None


def _objects(raw: Any) -> list[dict[str, Any]]:
    try:
        return engine.read_objects(raw if isinstance(raw, list) else [raw])
    except DocumentError as error:
        raise _invalid(error, "snapshot.objects") from None


# A form with files.


def _merged(request: ApiRequest) -> Any:
    """The JSON body; of a form its part ``request`` with what the files hold."""
    if not (request.content_type or "").startswith("multipart/"):
        return request.data
    data: Any = request.data
    body = _json(data.get("request") or "{}")
    for name in FILES:
        file = request.FILES.get(name)
        if file is None:
            continue
        content = file.read(settings.UPLOAD_LIMIT + 1)
        if len(content) > settings.UPLOAD_LIMIT:
            raise TooLarge(f"{name}: the file is larger than this server allows.")
        label = str(file.name or name)[:120]
        try:
            body |= _of_file(body, name, label, unpacked(label, content, settings.UPLOAD_LIMIT))
        except ApplicationError as error:
            errors = [{"path": name, "message": error.detail}]
            raise ApplicationError(f"{label}: {error.detail}", errors=errors, status=error.status) from None  # type: ignore[arg-type]
    return body


def _of_file(body: dict[str, Any], name: str, label: str, content: bytes) -> dict[str, Any]:
    if name == "objects":
        told = _object(body, "snapshot")
        objects = documents_read(
            content, Limits(size=settings.UPLOAD_LIMIT, depth=DEPTH, nodes=most_values(settings.UPLOAD_LIMIT))
        )
        return {"snapshot": {**told, "objects": objects, "label": told.get("label") or label}}
    if name == "thresholds":
        return {name: documents_read(content, SMALL)[0]}
    return {name: {"label": label, "document": text_decode(content), **_object(body, name)}}


def _object(body: dict[str, Any], name: str) -> dict[str, Any]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _json(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        message = f"is not JSON: {error}"
        raise ApplicationError(f"request: {message}.", errors=[{"path": "request", "message": message}]) from None
    if not isinstance(found, dict):
        message = "must be a JSON object"
        raise ApplicationError(f"request: {message}.", errors=[{"path": "request", "message": message}])
    return found


def _invalid(error: DocumentError, path: str = "") -> ApplicationError:
    problems = [{"path": path or one.path, "message": one.text[:1000]} for one in error.problems]
    return ApplicationError("The input is not valid.", errors=problems)  # type: ignore[arg-type]


urlpatterns = [
    path("gate/", GateList.as_view(), name="gate"),
    path("gate/<uuid:id>/", GateVerdict.as_view(), name="gate-verdict"),
]
