"""The common form of errors: problem details (RFC 9457) under /api/, a page elsewhere."""

from __future__ import annotations

import sys
from http import HTTPStatus
from typing import TYPE_CHECKING

import structlog
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded, WorkAbandoned
from kschedweb.web.errors import ApplicationError, FieldProblem, Unprocessable
from kschedweb.web.outages import DatabaseAway, find_outage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

API_PREFIX = "/api/"
MEDIA_TYPE = "application/problem+json"
TOO_LONG = "This takes longer than a page may compute. Ask about less, such as fewer pods, nodes or devices."


def request_id() -> str:
    """Return the id of this request, which its answer, its log lines and its jobs have."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def status_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"


def problem_document(path: str, status: int, detail: str, errors: Sequence[FieldProblem] = ()) -> Json:
    """Return the members of a problem document; ``path`` is the requested address."""
    return {
        "type": "about:blank",
        "title": status_phrase(status),
        "status": status,
        "detail": detail,
        "instance": path,
        "request_id": request_id(),
        "errors": list(errors),
    }


def answer_problem(
    request: HttpRequest, status: int, detail: str, errors: Sequence[FieldProblem] = (), *, bare: bool = False
) -> HttpResponse:
    """Return a problem document for programs, or an error page for people.

    ``bare`` omits the frame, which needs the database and the session. The session is missing for errors of early
    middleware.
    """
    if request.path.startswith(API_PREFIX):
        document = problem_document(request.path, status, detail, errors)
        return JsonResponse(document, status=status, content_type=MEDIA_TYPE)
    bare = bare or not hasattr(request, "user")
    context = {
        "status": status,
        "title": status_phrase(status),
        "detail": detail,
        "errors": errors,
        "request_id": request_id(),
    }
    page = render_to_string("error_bare.html", context) if bare else render_to_string("error.html", context, request)
    return HttpResponse(page, status=status)


def answer_refusal(request: HttpRequest, error: ApplicationError) -> HttpResponse:
    """Return the answer for ``error``."""
    bare = isinstance(error, DatabaseAway)
    response = answer_problem(request, error.status, error.detail, error.errors, bare=bare)
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return answer_problem(request, 413, "The upload is larger than this server allows.")
    if away := find_outage(exception):
        return answer_refusal(request, away)
    return answer_problem(request, 400, "The request could not be understood.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return answer_problem(request, 403, str(exception) or "You are not allowed to do this.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return answer_problem(
        request, 403, gettext("The form was too old or came from another site. Go back, reload the page, try again.")
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    message = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    return answer_problem(request, 404, message or gettext("There is nothing at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    if away := find_outage(sys.exception()):
        return answer_refusal(request, away)
    detail = gettext("The server failed on this request. Nothing was saved. Tell the operator the request id.")
    try:
        return answer_problem(request, 500, detail)
    # The frame itself may have failed.
    except Exception:
        structlog.get_logger(__name__).exception("error_page_failed")
        return HttpResponse(f"{detail}\n{request_id()}\n", status=500, content_type="text/plain; charset=utf-8")


class ProblemMiddleware:
    """Adds the request id to every answer, and handles ``ApplicationError`` and outages that no view caught."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response["X-Request-ID"] = request_id()
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, WorkAbandoned):
            # Nobody reads it, because the client has left.
            return HttpResponse(status=503)
        error = _in_our_terms(exception)
        return answer_refusal(request, error) if error is not None else None


def _in_our_terms(exception: Exception) -> ApplicationError | None:
    if isinstance(exception, ApplicationError):
        return exception
    if isinstance(exception, DeadlineExceeded):
        return Unprocessable(TOO_LONG)
    return find_outage(exception)
