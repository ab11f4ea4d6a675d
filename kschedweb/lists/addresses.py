"""The addresses at which views open."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

if TYPE_CHECKING:
    from kschedweb.lists.models import SavedView


def query_of(view: SavedView) -> str:
    """Return the query, with its "?", that opens ``view`` on the page of its list."""
    return f"?{urlencode({**view.filters, 'view': view.pk})}"


def address_of(view: SavedView) -> str:
    """Return the page of a view; "" if its list has no page of its own, and it opens where the list is."""
    return reverse(view.list.page) + query_of(view) if view.list and view.list.page else ""
