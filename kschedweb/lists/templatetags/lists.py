"""Template tags for the tables of registered lists, with a person's choices for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django import template
from django.template.base import Node, token_kwargs
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from kschedweb.accounts.models import Density
from kschedweb.lists import drawing, selectors
from kschedweb.lists.addresses import query_of
from kschedweb.lists.models import NAME_LIMIT, SavedView
from kschedweb.web import tables

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.template import Context
    from django.template.base import FilterExpression, NodeList, Parser, Token
    from django.utils.safestring import SafeString

register = template.Library()
# Cells that are not those of a column.
FURTHER_CELLS = {"absent", "rest", "marks", "above", "below"}
# Options that are not the label of a column.
OPTIONS = {"each", "label", "unit", "absent", "css"}


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


@register.tag("cell")
def compile_cell(parser: Parser, token: Token) -> CellNode:
    """Compile ``{% cell key %}…{% endcell %}``: a page's own cells of a column."""
    _, key = token.split_contents()
    nodelist = parser.parse(("endcell",))
    parser.delete_first_token()
    return CellNode(key, nodelist)


class CellNode(Node):
    """The cells of a column, which the table around them draws."""

    def __init__(self, key: str, nodelist: NodeList) -> None:
        self.key, self.nodelist = key, nodelist

    def render(self, context: Context) -> SafeString:
        """Return nothing: cells stand in rows."""
        return mark_safe("")


@register.tag("table")
def compile_table(parser: Parser, token: Token) -> TableNode:
    """Compile ``{% table table rows %}…{% endtable %}``: the head and the rows of a table, cards on a phone.

    The table is a RowTable, or the name of one. Between the tags stands a ``{% cell key %}`` for each column that is
    drawn as only this page does. Further cells: ``absent``, what a table without rows says; ``rest``, what stands in
    place of all cells but the first in rows that have it; ``marks``, the attributes of a row; ``above`` and ``below``,
    rows beside it. Options: ``each``, the name of a row in cells (``row``), or those of its parts; ``label`` in place
    of the title; ``unit`` of columns that are measured; ``absent``, words in place of that cell; ``css``; and by the
    key of a column its label here.
    """
    _, table, rows, *options = token.split_contents()
    nodelist = parser.parse(("endtable",))
    parser.delete_first_token()
    expressions = parser.compile_filter(table), parser.compile_filter(rows)
    return TableNode(*expressions, token_kwargs(options, parser), nodelist)


class TableNode(Node):
    """The table of a page."""

    def __init__(
        self,
        table: FilterExpression,
        rows: FilterExpression,
        options: dict[str, FilterExpression],
        nodelist: NodeList,
    ) -> None:
        self.table, self.rows, self.options, self.nodelist = table, rows, options, nodelist
        self.cells = {node.key: node.nodelist for node in nodelist if isinstance(node, CellNode)}

    def render(self, context: Context) -> SafeString:
        """Draw the table, as lists/table.html says."""
        # A report that is a file has no request.
        request: HttpRequest | None = context.get("request")
        options = {name: option.resolve(context) for name, option in self.options.items()}
        table, choice = self.table.resolve(context), None
        if isinstance(table, str):
            table = tables.get_table(table)
        if isinstance(table, tables.Table) and request is not None:
            choice = _load_choice(request, table.name)
        unknown_cells = self.cells.keys() - FURTHER_CELLS - {column.key for column in table.columns}
        assert not unknown_cells, f"{table.name} has no columns {unknown_cells}"
        labels = {key: label for key, label in options.items() if key not in OPTIONS}
        columns = drawing.choose_columns(table, context, labels)
        unit = options.get("unit", "")
        hidden_keys = choice.hidden if choice else []
        hidden = [f"hide-{place}" for place, column in enumerate(columns, 1) if column.key in hidden_keys]
        drawn = {
            "heads": [(column, column.head(unit), *_order_link(request, column)) for column in columns],
            "css": " ".join(["table cards-below", *options.get("css", table.css).split(), *hidden]),
            "table": table,
            "label": options.get("label") or table.title,
            "ignored": table.ignored(request.GET) if request and choice else [],
        }
        drawn["rows"] = drawing.draw_rows(
            table, columns, self.rows.resolve(context) or (), self.cells, context, options
        )
        return mark_safe(render_to_string("lists/table.html", drawn))  # noqa: S308 - a template has escaped it


@register.inclusion_tag("lists/tools.html", takes_context=True)
def list_tools(context: Context, name: str) -> dict[str, object]:
    """Draw the menus of columns and of views of the list ``name``."""
    request = context["request"]
    chosen = _load_choice(request, name)
    return {
        "table": chosen.table,
        "columns": [(column, column.key not in chosen.hidden) for column in chosen.table.shown[1:]],
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


def _order_link(request: HttpRequest | None, column: tables.Column) -> tuple[str, str]:
    """Return the address of a column head, and the current order of the list by it."""
    if not column.sort or request is None:
        return "", "none"
    query = request.GET.copy()
    current = query.get("ordering", "")
    # A second click on the same column turns the order around.
    query["ordering"] = f"-{column.sort}" if current == column.sort else column.sort
    query.pop("page", None)
    way = {column.sort: "ascending", f"-{column.sort}": "descending"}.get(current, "none")
    return f"?{query.urlencode()}", way
