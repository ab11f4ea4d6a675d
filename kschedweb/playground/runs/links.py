"""What a page's own links and forms carry on from its address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.http import HttpRequest


def carried(request: HttpRequest, *names: str, name: str = "carried") -> dict[str, Any]:
    """The parameters ``names`` that the address has, and as the beginning of a query under ``name``."""
    values = {key: request.GET[key] for key in names if request.GET.get(key)}
    return {"fields": values, name: f"{urlencode(values)}&" if values else ""}
