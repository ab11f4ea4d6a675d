"""The requests that views see behind ``requires`` and ``RolePermission``: somebody is logged in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest
from rest_framework.request import Request

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails

    from kschedweb.accounts.models import Token, User


class PageRequest(HttpRequest):
    """What a page gets."""

    user: User
    htmx: HtmxDetails


class ApiRequest(Request):
    """What a REST view gets; ``auth`` is the token, ``None`` in a session."""

    user: User
    auth: Token | None
