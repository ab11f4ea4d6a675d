"""Parameters of its address that a page keeps in its links and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from django.http import HttpRequest


def carry_params(request: HttpRequest, *names: str, name: str = "carried") -> dict[str, object]:
    """Return the parameters ``names`` of the address, and the beginning of a query with them as ``name``."""
    values = {key: request.GET[key] for key in names if request.GET.get(key)}
    return {"fields": values, name: f"{urlencode(values)}&" if values else ""}
