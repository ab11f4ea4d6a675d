"""Tables with their columns: what a page draws, and what a file holds. Apps register them in their ``tables``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

from django.http import QueryDict
from django.utils.translation import gettext

from kschedweb.web import moments
from kschedweb.web.errors import FieldProblem
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django_filters import FilterSet

# Parameters that do not belong to the list: the frame's choices, the place in the list, a file.
NEVER_KEPT = frozenset({"cluster", "policy", "revision", "snapshot", "cursor", "page", "format", "view", "news"})


def _step(value: Any, name: str) -> Any:
    """Return what ``value`` has by a name or number; what is missing in a mapping or a list is None."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return value.get(name)
    if name.isdigit():
        return value[int(name)] if int(name) < len(value) else None
    part = getattr(value, name)
    return part() if callable(part) else part


def read_value(row: Any, value: str | Callable[[Any], object]) -> Any:
    """Return what a row has at a path, or what a function says; None if something on the path is None."""
    if callable(value):
        return value(row)
    if isinstance(row, Mapping) and value in row:
        return row[value]
    return reduce(_step, value.split("."), row)


@dataclass(frozen=True)
class Column:
    """A column of a table: what a page has of it, and what a file."""

    key: str
    # "" for a column that only files have.
    label: str = ""
    css: str = ""
    # The column's value of ``ordering``; "" if the table cannot be sorted by it.
    sort: str = ""
    # True if the label is for screen readers alone.
    spoken: bool = False
    # True if the column is in a unit that the table chooses.
    measured: bool = False
    # A row's value: the path to it, such as ``created_by.username``, or a function of the row; by default the key, with
    # "_" for "-". There is none if it is None, "", an empty list or NaN.
    value: str | Callable[[Any], object] = ""
    # How a page shows the value: a template filter with its argument, which may be a variable of the page, or a
    # function of the value.
    form: str | Callable[[Any], object] = ""
    # A page's cell, if it is not of the value: a function of the row, or a template that gets ``row``. A page that has
    # its own cell writes it in ``{% cell key %}``.
    cell: str | Callable[[Any], object] = ""
    # What a page shows if there is no value.
    absent: str = "–"
    # Classes of cells in addition to ``css``.
    cell_css: str = ""
    # True if cells are names and words of others, which no browser should translate.
    verbatim: bool = False
    # A condition, as of an ``if`` tag, without which the page has no such column.
    when: str = ""
    # False if only pages have the column.
    exported: bool = True
    # The key in files, if it is not the key with "_" for "-".
    file: str = ""
    # The name in a query of rows, if it is not the key in files.
    query: str = ""

    @property
    def field(self) -> str:
        """The key in files."""
        return self.file or self.key.replace("-", "_")

    def read(self, row: Any) -> Any:
        """Return the value of a row."""
        return read_value(row, self.value or self.field)

    def head(self, unit: str = "") -> str:
        """Return the label, with the ``unit`` of the table if the column is measured in it."""
        return f"{self.label} ({unit})" if self.measured and unit else self.label


def author_column(label: str, *, path: str = "created_by") -> Column:
    """Return the column of the user at ``path``; what nobody began is the system's."""
    return Column("by", label, value=f"{path}.username", absent=_("system"))


def file_columns(*keys: str, path: str = "") -> tuple[Column, ...]:
    """Return columns that only files have; ``path`` leads to what has their values."""
    return tuple(Column(key, value=f"{path}.{key}" if path else "") for key in keys)


@dataclass(frozen=True)
class RowTable:
    """A table whose columns say once what a page draws of a row, and what a file has of it."""

    # Its name in addresses and file names.
    name: str
    title: str
    columns: tuple[Column, ...]
    # Attributes of a row's element, such as ``data-pod``, with the values that they have; none if that is None.
    marks: Mapping[str, str | Callable[[Any], object]] = field(default_factory=dict)
    # The key of the column that names the rows; by default the first one, and None if none does.
    names: str | None = ""
    # Classes of the table in addition to those that all have.
    css: str = "dense"
    # True if arrow keys lead from cell to cell.
    grid: bool = False

    @property
    def exported(self) -> list[Column]:
        """The columns in a file."""
        return [column for column in self.columns if column.exported]

    @property
    def head(self) -> list[str]:
        """The keys of the columns in a file."""
        return [column.field for column in self.exported]

    @property
    def fields(self) -> list[str]:
        """The names of the columns in a file, as a query of rows knows them."""
        return [column.query or column.field for column in self.exported]

    def with_constant(self, key: str, value: object) -> Self:
        """Return the table with a further column of files that has the same value in every row."""
        return replace(self, columns=(*self.columns, Column(key, value=lambda row: value)))

    def make_row(self, *values: object) -> dict[str, Any]:
        """Return a row of the values of the columns in a file."""
        return dict(zip(self.head, values, strict=True))

    def export_row(self, row: Any) -> list[object]:
        """Return the row as a file has it."""
        return [column.read(row) for column in self.exported]

    @property
    def shown(self) -> list[Column]:
        """The columns on a page."""
        return [column for column in self.columns if column.label]


@dataclass(frozen=True)
class Table(RowTable):
    """A list that people arrange. The first column always shows."""

    css: str = ""
    # The name of its page; "" if the address needs more than a name.
    page: str = ""
    # The filters of the list.
    filters: type[FilterSet] | None = None
    # Further parameters of the address that a view keeps.
    also: tuple[str, ...] = ()
    # Parameters of other parts of the page.
    other_parameters: tuple[str, ...] = ()

    @property
    def optional(self) -> list[str]:
        """The keys of the columns that may be hidden."""
        return [column.key for column in self.shown[1:]]

    @property
    def parameters(self) -> list[str]:
        """The parameters of the address that a view of the list keeps."""
        names = [*(self.filters.base_filters if self.filters else ()), *self.also, moments.PARAMETER]
        return [name for name in dict.fromkeys(names) if name not in NEVER_KEPT]

    def view_parameters(self, query: str) -> dict[str, str]:
        """Return the parameters of a query that a view keeps: those of the list that have a value."""
        values = QueryDict(query)
        return {name: values[name] for name in self.parameters if values.get(name)}

    def described(self, filters: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return these parameters in words: the label of each, and the choice."""
        # In the order of the list, because a database may keep them in another one.
        return [self._described(name, filters[name]) for name in self.parameters if name in filters]

    def _described(self, name: str, value: str) -> tuple[str, str]:
        if name == "ordering":
            key = value.removeprefix("-")
            label = next((str(column.label) for column in self.columns if column.sort == key), key)
            return gettext("Order"), gettext("%(column)s, descending") % {"column": label} if key != value else label
        field_filter = self.filters.base_filters.get(name) if self.filters else None
        chosen = {"true": gettext("Yes"), "false": gettext("No")}.get(value, value)
        return (str(field_filter.label) if field_filter is not None and field_filter.label else name), chosen

    def column_labels(self, keys: Iterable[str]) -> str:
        """Return the labels of the columns with these keys."""
        return gettext(", ").join(str(column.label) for column in self.columns if column.key in set(keys))

    def find_problems(self, filters: Mapping[str, str]) -> list[FieldProblem]:
        """Return what is wrong with these parameters: unknown names, and values that they do not take."""
        names = ", ".join(self.parameters) or "none"
        problems: list[FieldProblem] = [
            {"path": f"filters.{name}", "message": f"{self.title} have no such filter. There are: {names}."}
            for name in filters
            if name not in self.parameters
        ]
        if self.filters is None or problems:
            return problems
        checked: Any = self.filters(filters).form
        return [
            {"path": f"filters.{name}", "message": " ".join(messages)}
            for name, messages in checked.errors.items()
            if name in filters
        ]

    def ignored(self, query: QueryDict) -> list[str]:
        """Return sentences about parameters of the address that the list ignores, and so shows all rows."""
        values = {name: str(query[name]) for name in query if query[name]}
        known_names = {*self.parameters, *self.other_parameters, *NEVER_KEPT}
        sentences = []
        if self.filters is not None:
            # It goes with a moment.
            zone = None if moments.PARAMETER in self.filters.base_filters else moments.PARAMETER
            filter_names = ", ".join(name for name in self.parameters if name != zone)
            sentences += [
                gettext("This list has no filter “%(name)s”, so it was left out. It has: %(named)s.")
                % {"name": name, "named": filter_names}
                for name in values
                if name not in known_names
            ]
            errors: Mapping[str, list[str]] = self.filters(query).form.errors
            sentences += [self._left_out(name, values[name], errors[name]) for name in errors if name in values]
        order = values.get("ordering", "") if "ordering" in self.also else ""
        if order and order.removeprefix("-") not in {column.sort for column in self.columns}:
            sentences.append(self._left_out("ordering", order, [gettext("The list has no such column.")]))
        return sentences

    @staticmethod
    def _left_out(name: str, value: str, errors: Iterable[str]) -> str:
        return gettext("The filter %(filter)s was left out. %(error)s") % {
            "filter": f"{name}={value}"[:100],
            "error": " ".join(errors),
        }


_tables: dict[str, RowTable] = {}


def register_tables(*tables: RowTable) -> None:
    """Let pages find the tables by their names."""
    for table in tables:
        assert table.name not in _tables or _tables[table.name] is table, f"two tables have the name {table.name}"
        _tables[table.name] = table


def get_table(name: str) -> RowTable:
    return _tables[name]


def find_table(name: str) -> Table | None:
    """Return a list."""
    table = _tables.get(name)
    return table if isinstance(table, Table) else None


def list_tables() -> list[Table]:
    """Return all lists, by title."""
    return sorted(
        (table for table in _tables.values() if isinstance(table, Table)), key=lambda table: (table.title, table.name)
    )
