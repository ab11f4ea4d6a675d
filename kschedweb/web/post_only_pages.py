"""Addresses that accept forms only. Opened again, they redirect to the page of the form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import Resolver404, resolve

from kschedweb.web.problems import API_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse


class PostedMiddleware:
    """Redirects a browser's GET that a page does not answer to the nearest address above it. Programs get the 405.

    Browsers send such a GET when a refused form's page is reloaded, and after a login when the session ended while
    somebody filled in a form.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        page = isinstance(response, HttpResponseNotAllowed) and not request.path.startswith(API_PREFIX)
        if page and request.method in ("GET", "HEAD") and "text/html" in request.headers.get("Accept", ""):
            return redirect(_nearest_address(request.path))
        return response


def _nearest_address(path: str) -> str:
    """Return the nearest existing address above ``path``."""
    parts = path.strip("/").split("/")[:-1]
    while parts:
        above = f"/{'/'.join(parts)}/"
        try:
            resolve(above)
        except Resolver404:
            parts.pop()
        else:
            return above
    return "/"
