"""Rows of tables on pages."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.template import Context, Engine
from django.template.base import FilterExpression, Parser, render_value_in_context
from django.template.defaulttags import TemplateIfParser
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from kschedweb.web.tables import read_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from django.template.base import NodeList

    from kschedweb.web.tables import Column, RowTable


def choose_columns(table: RowTable, context: Context, labels: Mapping[str, Any]) -> list[Column]:
    """Return the columns that a page has, with its ``labels`` by their keys."""
    columns = [column for column in table.shown if not column.when or _compile_condition(column.when).eval(context)]
    return [replace(column, label=labels[column.key]) if column.key in labels else column for column in columns]


def draw_rows(
    table: RowTable,
    columns: Sequence[Column],
    rows: Iterable[object],
    cells: Mapping[str, NodeList],
    context: Context,
    options: Mapping[str, Any],
) -> SafeString:
    """Return the body of the table, with the page's own ``cells`` by the keys of their columns."""
    unit, row_names = options.get("unit", ""), options.get("each", "row").split()
    names = columns[0].key if table.names == "" else table.names
    heads = [
        (column, _cell_attributes(column), column.head(unit) if not column.spoken else "", column.key == names)
        for column in columns
    ]
    lines = []
    place: dict[str, object] = {}
    for number, row in enumerate(rows, 1):
        # One mapping for all rows, where {% ifchanged %} keeps what it compares.
        place |= {"counter": number, "counter0": number - 1, "first": number == 1}
        row_values: Any = row if len(row_names) > 1 else [row]
        parts = dict(zip(row_names, row_values, strict=True))
        with context.push(**{"row": row, "forloop": place, **parts}):
            joint_cell = cells["rest"].render(context).strip() if "rest" in cells else ""
            drawn = [
                _draw_cell(head, draw_value(column, row, cells.get(column.key), context))
                for column, *head in (heads[:1] if joint_cell else heads)
            ]
            if joint_cell:
                drawn.append(format_html('<td colspan="{}">{}</td>', len(heads) - 1, mark_safe(joint_cell)))  # noqa: S308
            # Words of two cells are apart where a row is read or copied as text.
            words = "\n".join(drawn)
            marks = f" {cells['marks'].render(context).strip()}" if "marks" in cells else _draw_marks(table, row)
            above, below = (cells[key].render(context) if key in cells else "" for key in ("above", "below"))
            lines.append(f"{above}<tr{marks}>{words}</tr>{below}")
    absent = cells["absent"].render(context) if "absent" in cells else options.get("absent")
    if not lines and absent:
        lines.append(format_html('<tr><td colspan="{}">{}</td></tr>', str(len(columns)), absent))
    return mark_safe(f"<tbody>{''.join(lines)}</tbody>")  # noqa: S308 - all of it is escaped


def _cell_attributes(column: Column) -> SafeString:
    css = " ".join(filter(None, (column.css, column.cell_css, "row-actions" if column.spoken else "")))
    verbatim = mark_safe(' translate="no"') if column.verbatim else ""
    return format_html("{}{}", format_html(' class="{}"', css) if css else "", verbatim)


def _draw_cell(head: Sequence[Any], cell: SafeString) -> SafeString:
    attributes, label, is_name = head
    if is_name:
        return format_html('<th scope="row"{}>{}</th>', attributes, cell)
    # A card leaves out what is empty.
    label = format_html(' data-label="{}"', label) if label and cell else ""
    return format_html("<td{}{}>{}</td>", attributes, label, cell)


def _draw_marks(table: RowTable, row: object) -> SafeString:
    """Return the attributes of a row's element."""
    values = ((name, read_value(row, value)) for name, value in table.marks.items())
    return format_html_join("", ' {}="{}"', ((name, value) for name, value in values if value is not None))


def draw_value(column: Column, row: object, nodes: NodeList | None, context: Context) -> SafeString:
    """Return a row's cell in a column."""
    if nodes is not None:
        return mark_safe(nodes.render(context).strip())  # noqa: S308 - templates escape
    if isinstance(column.cell, str) and column.cell:
        return mark_safe(Engine.get_default().get_template(column.cell).render(context).strip())  # noqa: S308
    value = column.cell(row) if callable(column.cell) else column.read(row)
    # Only NaN differs from itself.
    if value is None or value == "" or value != value or (isinstance(value, list | tuple) and not value):
        return conditional_escape(column.absent)
    if callable(column.form):
        value = column.form(value)
    elif column.form:
        with context.push(value=value):
            value = _compile(column.form).resolve(context)
    return conditional_escape(render_value_in_context(value, context))


@lru_cache(maxsize=100)
def _compile(form: str) -> FilterExpression:
    """Return the expression that shows ``value`` through a filter of any library."""
    return _parser().compile_filter(f"value|{form}")


@lru_cache(maxsize=100)
def _compile_condition(condition: str) -> Any:
    """Return the condition of an ``if`` tag."""
    return TemplateIfParser(_parser(), condition.split()).parse()


def _parser() -> Parser:
    engine = Engine.get_default()
    parser = Parser([], engine.template_libraries, engine.template_builtins)
    for library in engine.template_libraries.values():
        parser.add_library(library)
    return parser
