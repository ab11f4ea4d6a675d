"""Redirects from addresses that pages had before they moved, and from names that only lead on to a page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.http import HttpResponsePermanentRedirect
from django.shortcuts import redirect
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.urls import URLPattern


def moved_route(old: str, name: str, *path_arguments: str, **fixed: str) -> URLPattern:
    """Redirect the route ``old`` permanently to the page ``name``, with its query string.

    Path arguments named in ``path_arguments``, and ``fixed``, become parameters of the query string. The redirect keeps
    the method (308), so that a form of a page from before the move still reaches its action.
    """

    @page_part
    def redirect_permanently(request: HttpRequest, **arguments: object) -> HttpResponsePermanentRedirect:
        query = request.GET.copy()
        for parameter, value in [
            *((argument, str(arguments.pop(argument))) for argument in path_arguments),
            *fixed.items(),
        ]:
            query[parameter] = value
        address = reverse(name, kwargs=arguments)
        return HttpResponsePermanentRedirect(
            f"{address}?{query.urlencode()}" if query else address, preserve_request=True
        )

    return path(old, redirect_permanently)


@require_safe
def open_node(request: HttpRequest) -> HttpResponse:
    """Redirect to the page of the node that ``node``, "cluster/node", names; to all clusters without one."""
    cluster, _, node = request.GET.get("node", "").replace("\0", "").partition("/")
    if not cluster or not node or "/" in node:
        return redirect("fleet")
    return redirect(f"{reverse('node', args=[node])}?{urlencode({'cluster': cluster})}")
