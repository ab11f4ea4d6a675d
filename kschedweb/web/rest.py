"""Common parts of REST resources: problem details and idempotent commands."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, cast

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.core.exceptions import ValidationError as ModelValidationError
from django.http import Http404
from rest_framework import exceptions, serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.settings import api_settings
from rest_framework.views import set_rollback

from kschedweb.engine.json_types import Json
from kschedweb.web import idempotency
from kschedweb.web.errors import ApplicationError, Conflict, FieldProblem, Unprocessable
from kschedweb.web.outages import find_outage
from kschedweb.web.problems import MEDIA_TYPE, problem_document

if TYPE_CHECKING:
    from rest_framework.request import Request

NOT_AUTHENTICATED = "Send a token in a header, as `Authorization: Bearer ksw_…`. The page Tokens makes one."
IDEMPOTENCY_HEADER = "Idempotency-Key"
BOUNDARY = re.compile(r'boundary="?([^";]+)"?')


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class ProblemRenderer(JSONRenderer):
    """JSON under the media type of RFC 9457."""

    media_type = MEDIA_TYPE
    format = "problem"


class NameField(serializers.SlugRelatedField[Any]):
    """A row by its name. No name holds a NUL, and PostgreSQL cannot even be asked for one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="name", **options)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        if "\0" in data:
            self.fail("does_not_exist", slug_name="name", value=data)
        return super().to_internal_value(data)


def snake_case(answer: Mapping[str, Any]) -> Json:
    """Return ``answer`` with its own keys in REST's spelling. Keys within stay, since many are names of other
    things.
    """
    return {_HUMP.sub("_", name).lower(): value for name, value in answer.items()}


def validate_input(serializer: type[serializers.BaseSerializer[Any]], data: Any) -> Json:
    """Return the validated data. Invalid data is answered with 400 and all invalid fields."""
    bound_serializer = serializer(data=data)
    bound_serializer.is_valid(raise_exception=True)
    values: Json = bound_serializer.validated_data
    return values


def accepted_response(request: Request, body: Any, address: str, pk: Any) -> Response:
    """Return 202 for work that a worker continues. Its progress is at ``address`` with ``pk``."""
    return Response(body, status=202, headers={"Location": reverse(address, args=[pk], request=request)})


def answered_later(request: Request, body: Any, address: str, pk: Any) -> Response:
    """Return 202 for a question that a job answers, with the time after which it is worth asking again."""
    response = accepted_response(request, body, address, pk)
    response["Retry-After"] = "2"
    return response


class Replayed(Exception):
    """The command was done already. ``status`` and ``body`` are its answer then."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__("replayed")
        self.status = status
        self.body = body


def field_problems(detail: Any, path: str = "") -> Iterator[FieldProblem]:
    """Flatten DRF's nested error detail: ``{"spec": [{"name": ["…"]}]}`` becomes ``spec[0].name``."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            name = "" if key == api_settings.NON_FIELD_ERRORS_KEY else str(key)
            yield from field_problems(value, ".".join(part for part in (path, name) if part))
    elif isinstance(detail, (list, tuple)):
        for index, value in enumerate(detail):
            nested = isinstance(value, (Mapping, list, tuple))
            yield from field_problems(value, f"{path}[{index}]" if nested else path)
    else:
        yield {"path": path, "message": str(detail)}


def _in_drf_terms(error: Exception) -> Exception:
    if isinstance(error, Http404):
        return exceptions.NotFound(*(error.args[:1] if error.args and isinstance(error.args[0], str) else ()))
    if isinstance(error, PermissionDenied):
        return exceptions.PermissionDenied(*error.args[:1])
    if isinstance(error, RequestDataTooBig):
        return ApplicationError("The upload is larger than this server allows.", status=413)
    if isinstance(error, ModelValidationError):
        detail = error.message_dict if hasattr(error, "error_dict") else error.messages
        return exceptions.ValidationError(detail)
    if isinstance(error, exceptions.NotAuthenticated):
        error.detail = exceptions.ErrorDetail(NOT_AUTHENTICATED, "not_authenticated")
    return find_outage(error) or error


def problem_details(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the problem document of an error. ``None`` passes an unforeseen error to Django's handler500, which
    logs it.
    """
    request: Request = context["request"]
    if isinstance(error, Replayed):
        return Response(error.body, status=error.status, headers={"Idempotency-Replayed": "true"})
    error = _in_drf_terms(error)
    headers: dict[str, str] = {}
    if isinstance(error, ApplicationError):
        status, detail, errors = error.status, error.detail, error.errors
        if error.retry_after is not None:
            headers["Retry-After"] = str(error.retry_after)
    elif isinstance(error, exceptions.ValidationError):
        status, errors = error.status_code, list(field_problems(error.detail))
        detail = "The input is not valid."
    elif isinstance(error, exceptions.APIException):
        status, detail, errors = error.status_code, str(error.detail), []
        if header := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = header
        if wait := getattr(error, "wait", None):
            headers["Retry-After"] = str(int(wait) + 1)
    else:
        return None
    # An error that is answered does not roll the transaction back by itself.
    set_rollback()
    request.accepted_renderer = ProblemRenderer()
    request.accepted_media_type = MEDIA_TYPE
    response = Response(problem_document(request.path, status, detail, errors), status=status, headers=headers)
    response["Content-Type"] = MEDIA_TYPE
    return response


class IdempotencyMixin:
    """Executes a POST with an ``Idempotency-Key`` once. A repetition gets the first answer, another body gets 422.

    It is not for commands whose answer holds a secret, since the answer is kept for a day.
    """

    _idempotency: Any = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)  # type: ignore[misc]
        key = request.headers.get(IDEMPOTENCY_HEADER, "")
        if request.method == "POST" and key:
            self._idempotency = _claim_key(request, key)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)  # type: ignore[misc]
        claimed, self._idempotency = self._idempotency, None
        if claimed is not None:
            if response.status_code < 400:
                idempotency.key_answered(row=claimed, status=response.status_code, body=_plain_body(response))
            else:
                idempotency.key_released(row=claimed)
        return response

    def raise_uncaught_exception(self, exc: Exception) -> NoReturn:
        if self._idempotency is not None:
            idempotency.key_released(row=self._idempotency)
        super().raise_uncaught_exception(exc)  # type: ignore[misc]
        raise exc


def _plain_body(response: Response) -> Any:
    return json.loads(JSONRenderer().render(response.data)) if response.data is not None else None


def _request_digest(request: Request) -> str:
    """Return a digest of the request, without the boundary of a form, which differs each time."""
    kind, body = request.content_type or "", request.body
    if kind.startswith("multipart/") and (match := BOUNDARY.search(kind)):
        kind, body = BOUNDARY.sub("", kind), body.replace(match[1].encode(), b"")
    return hashlib.sha256(f"{request.path}\n{kind}\n".encode() + body).hexdigest()


def _claim_key(request: Request, key: str) -> Any:
    if len(key) > 128 or not key.isprintable() or not key.isascii():
        raise ApplicationError(f"{IDEMPOTENCY_HEADER} must be at most 128 printable ASCII characters.")
    digest = _request_digest(request)
    row, mine = idempotency.key_claim(user=cast("int", request.user.pk), key=key, digest=digest)
    if mine:
        return row
    if row.digest != digest:
        raise Unprocessable(f"This {IDEMPOTENCY_HEADER} was used before with another request. Use a new one.")
    if row.status == 0:
        raise Conflict("The first request with this key is still being done. Ask again in a moment.")
    raise Replayed(row.status, row.body)
