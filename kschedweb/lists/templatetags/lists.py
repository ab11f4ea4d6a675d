"""Template tags for the tables of registered lists, with a person's choices for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import template
from django.template.loader import render_to_string

from kschedweb.accounts.models import Density
from kschedweb.lists import selectors
from kschedweb.lists.addresses import query_of
from kschedweb.lists.models import NAME_LIMIT, SavedView
from kschedweb.web import tables

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.template import Context
    from django.utils.safestring import SafeString

register = template.Library()


@dataclass(frozen=True)
class ListChoice:
    """The choices with which this request shows a list."""

    table: tables.Table
    # The person's views of the list.
    views: list[SavedView]
    # The view that the address names.
    view: SavedView | None
    # The keys of hidden columns.
    hidden: list[str]


@register.simple_block_tag(takes_context=True)
def table(context: Context, content: SafeString, name: str, label: str, css: str = "", unit: str = "") -> str:
    """Draw the table of the list ``name`` around its ``tbody``, sortable if the list is; see lists/table.html.

    ``unit`` is that of the columns that are ``measured``.
    """
    request = context["request"]
    chosen = _load_choice(request, name)
    hidden = [f"hide-{at}" for at, column in enumerate(chosen.table.columns, 1) if column.key in chosen.hidden]
    heads = [(column, column.head(unit), *_order_link(request, column)) for column in chosen.table.columns]
    words = " ".join(["table", *css.split(), *hidden])
    drawn = {"heads": heads, "css": words, "label": label, "rows": content}
    return render_to_string("lists/table.html", drawn | {"ignored": chosen.table.ignored(request.GET)})


@register.inclusion_tag("lists/tools.html", takes_context=True)
def list_tools(context: Context, name: str) -> dict[str, object]:
    """Draw the menus of columns and of views of the list ``name``."""
    request = context["request"]
    chosen = _load_choice(request, name)
    return {
        "table": chosen.table,
        "columns": [(column, column.key not in chosen.hidden) for column in chosen.table.columns[1:]],
        "hidden": len(chosen.hidden),
        "shown_hidden": ",".join(chosen.hidden),
        "view": chosen.view,
        "views": [(view, query_of(view)) for view in chosen.views],
        "density": request.user.density,
        "densities": Density.choices,
        "here": request.get_full_path(),
        "name_limit": NAME_LIMIT,
        "csrf_token": context.get("csrf_token"),
    }


def _load_choice(request: HttpRequest, name: str) -> ListChoice:
    """Return the choices for a list, which are read once per request."""
    choices: dict[str, ListChoice] = request.__dict__.setdefault("lists_chosen", {})
    if name not in choices:
        listed = tables.find_table(name)
        assert listed is not None, f"{name} is not registered"
        rows = list(selectors.list_saved_views(request.user, name))  # type: ignore[arg-type]
        views = [row for row in rows if row.name]
        # Any other value in the address has no effect, such as the view of somebody else or of another list.
        view = next((row for row in views if str(row.pk) == request.GET.get("view")), None)
        selected = view or next((row for row in rows if not row.name), None)
        hidden = [key for key in listed.optional if selected and key in selected.hidden]
        choices[name] = ListChoice(listed, views, view, hidden)
    return choices[name]


def _order_link(request: HttpRequest, column: tables.Column) -> tuple[str, str]:
    """Return the address of a column head, and the current order of the list by it."""
    if not column.sort:
        return "", "none"
    query = request.GET.copy()
    current = query.get("ordering", "")
    # A second click on the same column turns the order around.
    query["ordering"] = f"-{column.sort}" if current == column.sort else column.sort
    query.pop("page", None)
    way = {column.sort: "ascending", f"-{column.sort}": "descending"}.get(current, "none")
    return f"?{query.urlencode()}", way
