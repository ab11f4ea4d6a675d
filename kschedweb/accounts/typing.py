"""The types of requests behind ``requires`` and ``RolePermission``, where somebody is logged in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest
from rest_framework.request import Request

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from kschedweb.accounts.models import Token, User


class PageRequest(HttpRequest):
    """The request of a page."""

    user: User
    htmx: HtmxDetails


class ApiRequest(Request):
    """The request of a REST view."""

    user: User
    # The token; None in a session.
    auth: Token | None
