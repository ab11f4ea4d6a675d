"""Answer ``POST /extender/<live scheduler>/<verb>``, which kube-scheduler calls.

It answers before the middleware of sessions, forms and access logs: kube-scheduler uses neither of the first two, and
calls hundreds of times a second. A caller with the secret always gets status 200, with the error in the body: after
any other status kube-scheduler writes the whole address, with the secret, into its log and into events of pods.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import JsonResponse, UnreadablePostError

from kschedweb.accounts.authentication import StrangerThrottle
from kschedweb.engine.cycle.extender_handler import ExtenderArgsError
from kschedweb.engine.json_types import Json
from kschedweb.live.extender import metrics
from kschedweb.live.extender.configuration import PREFIX
from kschedweb.live.extender.responder import responders
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from kschedweb.live.extender.responder import Responder

PATH = re.compile(rf"{PREFIX}([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})/(filter|prioritize|preempt|bind)/?")
# Answers of verbs that have no error field: no scores, and no node for preemption.
EMPTY: Json = {"prioritize": [], "preempt": {"NodeNameToMetaVictims": {}}}
# A header that says what is wrong, for people; kube-scheduler ignores it.
TROUBLE = "X-Kschedweb-Trouble"
logger = structlog.get_logger(__name__)


class ExtenderMiddleware:
    """Answers kube-scheduler, and passes all other requests on."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return answer_question(request) if request.path.startswith(PREFIX) else self.get_response(request)


def answer_question(request: HttpRequest) -> HttpResponse:
    """Return the answer to one call. It is 401 without the secret, so that endpoints cannot be discovered."""
    match = PATH.fullmatch(request.path)
    if match is None:
        return _refuse(404, "There is nothing at this address.")
    if request.method != "POST":
        return _refuse(405, "kube-scheduler asks with POST.", Allow="POST")
    if settings.HTTPS and not request.is_secure():
        return _refuse(403, "Ask over https.")
    try:
        responder = responders.open_responder(UUID(match[1]), request.headers.get("Authorization", ""))
    except (ApplicationError, DatabaseError) as error:
        logger.warning("extender_not_opened", scheduler=match[1], error=type(error).__name__)
        return _refuse(503, "kschedweb cannot open the endpoint now.")
    return _answer_known(request, responder, match[2]) if responder is not None else _answer_stranger(request)


def _answer_stranger(request: HttpRequest) -> HttpResponse:
    throttle = StrangerThrottle()
    if throttle.allow_request(request, None):  # type: ignore[arg-type]
        return _refuse(401, "The secret is wrong.", WWW_Authenticate='Basic realm="kschedweb"')
    return _refuse(429, "Too many wrong secrets.", Retry_After=str(int(throttle.wait() or 1) + 1))


def _answer_known(request: HttpRequest, responder: Responder, verb: str) -> HttpResponse:
    begun = time.perf_counter()
    answer: Any
    try:
        answer, trouble = responder.answer_question(verb, request.body)
    except RequestDataTooBig:
        answer, trouble = None, f"the question is larger than {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes"
    except (ExtenderArgsError, RecursionError, UnreadablePostError) as error:
        answer, trouble = None, f"the question cannot be understood: {error}"
    except Exception:
        logger.exception("extender_failed", verb=verb)
        answer, trouble = None, "kschedweb failed"
    if answer is None:
        answer = EMPTY.get(verb, {"Error": f"kschedweb: {trouble}"})
    response = JsonResponse(answer, safe=False)
    metrics.count_answer(responder.settings.live, verb, time.perf_counter() - begun, trouble)
    if trouble:
        response[TROUBLE] = " ".join(trouble.split())[:200].encode("ascii", "replace").decode()
    return response


def _refuse(status: int, detail: str, **headers: str) -> HttpResponse:
    response = JsonResponse({"Error": detail}, status=status)
    for name, value in headers.items():
        response[name.replace("_", "-")] = value
    return response
