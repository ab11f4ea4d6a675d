"""The Model Context Protocol over HTTP: the tools of ``kschedweb mcp``, with the rights of the caller's token.

Its tools read by REST, as a program would: each call goes through the whole site in this thread, so that middleware,
grants and limits hold as for any other.
"""

from __future__ import annotations

from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_to_bytes, urlsplit

from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.cli.mcp import VERSIONS, answer_message
from kschedweb.cli.rest import ApiResponse, RestCalls, problem_to_error
from kschedweb.cli.session import CliSession
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.typing import ApiRequest

# Seconds that a call waits for a job; a model asks again afterwards, and finds the job's answer.
PATIENCE = 25.0
# Of the caller's request: who asks, how, and from where.
PASSED_ON = (
    *("HTTP_AUTHORIZATION", "HTTP_COOKIE", "HTTP_X_CSRFTOKEN", "HTTP_HOST", "HTTP_REFERER", "HTTP_X_FORWARDED_FOR"),
    *("HTTP_X_FORWARDED_PROTO", "REMOTE_ADDR", "SERVER_NAME", "SERVER_PORT", "wsgi.url_scheme"),
)


class SiteCalls(RestCalls):
    """REST of this site, called within this process with the credentials of a request."""

    def __init__(self, request: HttpRequest) -> None:
        self._environment = {name: request.META[name] for name in PASSED_ON if name in request.META}
        self._environment.setdefault("wsgi.url_scheme", request.scheme)

    def _send_request(self, method: str, path: str, body: bytes | None = None) -> ApiResponse:
        parts = urlsplit(f"/api/v1/{path}")
        environment = {
            **self._environment,
            "REQUEST_METHOD": method,
            "PATH_INFO": _unquote_path(parts.path),
            "QUERY_STRING": parts.query,
            "HTTP_ACCEPT": "application/json",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body or b"")),
            "wsgi.input": BytesIO(body or b""),
        }
        response = cast("HttpResponse", get_handler().get_response(WSGIRequest(environment)))
        if response.status_code >= 300:
            raise problem_to_error(response.status_code, response.headers.get("Location", ""), response.content)
        return ApiResponse(response.status_code, response.content.decode())


def _unquote_path(path: str) -> str:
    """Return the path as a WSGI server gives it: unescaped, its bytes as Latin-1."""
    return unquote_to_bytes(path).decode("latin-1")


@cache
def get_handler() -> BaseHandler:
    """Return the handler that runs middleware and views in the caller's thread."""
    handler = BaseHandler()
    handler.load_middleware()
    return handler


@method_decorator(heavy, name="dispatch")
class McpView(APIView):
    """Tools for language models over streamable HTTP; they only read."""

    action_required = Action.VIEW
    in_part = ("POST",)

    @extend_schema(
        operation_id="mcp",
        tags=["mcp"],
        request=OpenApiTypes.OBJECT,
        responses={200: OpenApiTypes.OBJECT, 202: OpenApiResponse(description="A notification was taken.")},
    )
    def post(self, request: ApiRequest) -> Response:
        """Answer one message of the Model Context Protocol (JSON-RPC 2.0). There are no sessions and no streams."""
        _check_origin(request)
        version = request.headers.get("MCP-Protocol-Version", VERSIONS[0])
        if version not in VERSIONS:
            raise ApplicationError.at("MCP-Protocol-Version", f"Known are {', '.join(VERSIONS)}.")
        session = CliSession({}, patience=PATIENCE)
        # The property would build a connection to another server.
        session.__dict__["server"] = SiteCalls(request)
        answer: Any = answer_message(session, request.data)
        return Response(status=202) if answer is None else Response(answer)


def _check_origin(request: ApiRequest) -> None:
    """Refuse a page of another site, which may have this site's name in its browser's DNS."""
    origin = request.headers.get("Origin", "")
    if origin and urlsplit(origin).netloc != request.get_host():
        raise PermissionDenied("The request comes from a page of another site.")


urlpatterns = [path("mcp/", McpView.as_view(), name="mcp")]
