"""What every page's frame needs."""

from __future__ import annotations

from django.http import HttpRequest


def frame(request: HttpRequest) -> dict[str, object]:
    return {}
