"""Pages of other sites that read the REST API in a browser, such as Headlamp's: the origins that the operator names.

They need a token: browsers send them no cookies, since ``Access-Control-Allow-Credentials`` is never set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpResponse
from django.utils.cache import patch_vary_headers

from kschedweb.web.problems import API_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest

PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Headers": "Authorization",
    "Access-Control-Max-Age": "600",
}


class CrossOriginMiddleware:
    """Answers the browser's question before a request from another origin, and marks answers that it may read."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        origin = request.headers.get("Origin", "")
        if not request.path.startswith(API_PREFIX) or origin not in settings.API_ORIGINS:
            return self.get_response(request)
        is_preflight = request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers
        response = HttpResponse(status=204, headers=PREFLIGHT) if is_preflight else self.get_response(request)
        response.headers["Access-Control-Allow-Origin"] = origin
        patch_vary_headers(response, ["Origin"])
        return response
