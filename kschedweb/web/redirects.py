"""Redirects from addresses that pages had before they moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponsePermanentRedirect
from django.urls import path, reverse

from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest
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
