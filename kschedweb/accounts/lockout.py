"""What somebody sees after too many wrong passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from axes.helpers import get_cool_off
from django.conf import settings
from django.shortcuts import render

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


def lockout(
    request: HttpRequest, original_response: HttpResponse | None = None, credentials: dict[str, Any] | None = None
) -> HttpResponse:
    """429 with a page that says how long; the same whether the person exists or not."""
    wait = get_cool_off()
    seconds = int(wait.total_seconds()) if wait else 0
    context = {
        "cooloff_minutes": seconds // 60,
        "failure_limit": settings.AXES_FAILURE_LIMIT,
        "username": request.POST.get("username", "")[:150],
    }
    response = render(request, "accounts/lockout.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response
