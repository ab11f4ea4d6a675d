"""Cursor pagination that is stable while rows come and go: a cursor has the last row's position in the whole order.

DRF's own cursor uses only the first ordering field and an offset of at most a thousand. A list of 5,000 pods ordered by
"pending first" would never end.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import F, Q
from django.http import Http404
from rest_framework.exceptions import NotFound
from rest_framework.exceptions import ValidationError as DRFValidationError
from rest_framework.pagination import BasePagination
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from django.db.models import Model, OrderBy, QuerySet
    from django.http import HttpRequest
    from rest_framework.request import Request
    from rest_framework.views import APIView

# Rows of a page of a list.
PAGE_SIZE = 50
# Rows that are checked for a page at most, if no index finds matching ones.
MOST_LOOKED_AT = 50_000
# Rows of an export that are read at once.
PIECE = 5_000
INVALID = "This cursor does not belong to this list. Begin again without one."


@dataclass(frozen=True)
class Key:
    """One field of an order. NULL is the smallest value in every database."""

    field: str
    descending: bool
    nullable: bool

    def reversed(self) -> Key:
        return Key(self.field, not self.descending, self.nullable)

    def order(self) -> OrderBy:
        # PostgreSQL sorts NULL as the largest value, SQLite as the smallest, so it is said explicitly.
        nulls_first = True if self.nullable and not self.descending else None
        nulls_last = True if self.nullable and self.descending else None
        if self.descending:
            return F(self.field).desc(nulls_last=nulls_last)
        return F(self.field).asc(nulls_first=nulls_first)

    def equal(self, value: Any) -> Q:
        return Q(**{f"{self.field}__isnull": True}) if value is None else Q(**{self.field: value})

    def not_before(self, value: Any) -> Q:
        """Return a condition that an index can use. It includes all rows after a position whose first key has
        ``value``.
        """
        if self.nullable:
            return Q()
        return Q(**{f"{self.field}__{'lte' if self.descending else 'gte'}": value})

    def after(self, value: Any) -> Q | None:
        """Return the condition for rows after ``value`` by this field; ``None`` if there are none."""
        if value is None:
            return None if self.descending else Q(**{f"{self.field}__isnull": False})
        if not self.descending:
            return Q(**{f"{self.field}__gt": value})
        below = Q(**{f"{self.field}__lt": value})
        return below | Q(**{f"{self.field}__isnull": True}) if self.nullable else below


def keys_of(queryset: QuerySet[Any]) -> list[Key]:
    """Return the queryset's order, with the primary key last, so that it is total."""
    meta = queryset.model._meta
    names = [name for name in (queryset.query.order_by or meta.ordering) if isinstance(name, str)]
    if not any(name.lstrip("-") in ("pk", meta.pk.name) for name in names):
        names.append("pk")

    def is_nullable(name: str) -> bool:
        try:
            return bool(getattr(meta.get_field(name), "null", False))
        except FieldDoesNotExist:
            return name != "pk"

    return [Key(name.lstrip("-"), name.startswith("-"), is_nullable(name.lstrip("-"))) for name in names]


def place_of(row: Model, keys: list[Key]) -> list[Any]:
    """Return the row's values of ``keys`` as plain JSON."""
    values = []
    for key in keys:
        value: Any = row
        for part in key.field.split("__"):
            value = getattr(value, part) if value is not None else None
        plain = value is None or isinstance(value, (bool, int, float, str))
        values.append(value if plain else value.isoformat() if hasattr(value, "isoformat") else str(value))
    return values


def rows_beyond(keys: list[Key], place: list[Any]) -> Q:
    """Return the condition for rows after ``place`` in the order of ``keys``."""
    condition = Q(pk__in=[])
    equal = Q()
    for key, value in zip(keys, place, strict=True):
        after = key.after(value)
        if after is not None:
            condition |= equal & after
        equal &= key.equal(value)
    # The first condition is implied by the second, but only it can use an index.
    return keys[0].not_before(place[0]) & condition


def as_far_as(keys: list[Key], place: list[Any]) -> Q:
    """Return the condition for rows up to and including ``place``."""
    back = [key.reversed() for key in keys]
    same = Q()
    for key, value in zip(keys, place, strict=True):
        same &= key.equal(value)
    return back[0].not_before(place[0]) & (rows_beyond(back, place) | same)


def encode_cursor(backwards: bool, place: list[Any]) -> str:
    text = json.dumps([backwards, place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, length: int) -> tuple[bool, list[Any]]:
    """Return ``(backwards, place)``. Raises ``NotFound`` for a cursor that does not fit the order."""
    try:
        backwards, place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        fits = isinstance(backwards, bool) and isinstance(place, list) and len(place) == length
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise NotFound(INVALID) from None
    if not fits or not all(map(_is_plain, place)):
        raise NotFound(INVALID)
    return backwards, place


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and value.isprintable()
    if isinstance(value, int):
        # PostgreSQL refuses larger integers with an error.
        return abs(value) < 2**63
    return value is None or isinstance(value, float)


@dataclass(frozen=True)
class CursorPage:
    """A page of a list."""

    rows: list[Any]
    # The cursor of the next page; None at the end.
    following: str | None
    # The cursor of the page before; None at the beginning.
    preceding: str | None
    # The first field of the last checked row if not all rows were checked. ``following`` continues from there then,
    # although the page may not be full.
    reached: Any = None
    # See news.py.
    newest: str = ""


def cursor_page(
    queryset: QuerySet[Any], cursor: str, limit: int, *, indexed_rows: QuerySet[Any] | None = None
) -> CursorPage:
    """Return at most ``limit`` rows from ``cursor`` on ("": the beginning). Raises ``NotFound`` for a wrong cursor.

    ``indexed_rows`` are rows that an index finds in this order, if it does not find those of ``queryset``. At most
    ``MOST_LOOKED_AT`` of them are checked for one page.
    """
    keys = keys_of(queryset)
    backwards, place = decode_cursor(cursor, len(keys)) if cursor else (False, [])
    rows, reached = _read_rows(queryset, keys, limit, backwards, place, indexed_rows)
    # All rows before the cursor are gone: show the beginning.
    if backwards and not rows:
        backwards, place = False, []
        rows, reached = _read_rows(queryset, keys, limit, backwards, place, indexed_rows)
    more, rows = len(rows) > limit, rows[:limit]
    if backwards:
        rows.reverse()
    following = encode_cursor(False, place_of(rows[-1], keys)) if rows and (more or backwards) else None
    preceding = encode_cursor(True, place_of(rows[0], keys)) if rows and (more if backwards else bool(place)) else None
    if reached is None or more or backwards:
        return CursorPage(rows, following, preceding)
    return CursorPage(rows, encode_cursor(False, place_of(reached, keys)), preceding, getattr(reached, keys[0].field))


def page_shown(
    request: HttpRequest, queryset: QuerySet[Any], *, indexed_rows: QuerySet[Any] | None = None
) -> CursorPage:
    """Return the page of a list in the address. Raises ``Http404`` for another list's cursor."""
    try:
        return cursor_page(queryset, request.GET.get("cursor", ""), PAGE_SIZE, indexed_rows=indexed_rows)
    except NotFound as error:
        raise Http404(str(error.detail)) from None


def _read_rows(
    queryset: QuerySet[Any],
    keys: list[Key],
    limit: int,
    backwards: bool,
    place: list[Any],
    indexed_rows: QuerySet[Any] | None,
) -> tuple[list[Any], Model | None]:
    """Return at most ``limit`` + 1 rows, and the last row that was checked; ``None`` if all were."""
    order = [key.reversed() for key in keys] if backwards else keys
    ordered = [key.order() for key in order]
    reached = None
    try:
        if place:
            queryset = queryset.filter(rows_beyond(order, place))
        if indexed_rows is not None:
            indexed_rows = indexed_rows.filter(rows_beyond(order, place)) if place else indexed_rows
            fields = [key.field for key in keys]
            looked_at = indexed_rows.select_related(None).prefetch_related(None).only(*fields).order_by(*ordered)
            reached = next(iter(looked_at[MOST_LOOKED_AT - 1 : MOST_LOOKED_AT]), None)
        if reached is not None:
            queryset = queryset.filter(as_far_as(order, place_of(reached, keys)))
        # One row more than asked tells whether there is a next page.
        return list(queryset.order_by(*ordered)[: limit + 1]), reached
    except (ValidationError, ValueError, TypeError, OverflowError):
        if not place:
            raise
        raise NotFound(INVALID) from None


def in_pieces(
    queryset: QuerySet[Any], fields: Sequence[str], limit: int, *, indexed_rows: QuerySet[Any] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield ``fields`` of at most ``limit`` rows, in the queryset's order; ``indexed_rows`` as for ``cursor_page``.

    Rows are read in short queries, each of which continues after the last, so no cursor stays open in the database.
    """
    keys = keys_of(queryset)
    names = [*fields, *(key.field for key in keys if key.field not in fields)]
    value_rows = queryset.select_related(None).prefetch_related(None).values_list(*names)
    place: list[Any] = []
    while limit > 0:
        rows, reached = _read_rows(value_rows, keys, min(PIECE, limit), False, place, indexed_rows)
        rows, more = rows[: min(PIECE, limit)], len(rows) > min(PIECE, limit)
        for row in rows:
            yield row[: len(fields)]
        limit -= len(rows)
        if more:
            place = [rows[-1][names.index(key.field)] for key in keys]
        elif reached is not None:
            place = [getattr(reached, key.field) for key in keys]
        else:
            return


class CursorPagination(BasePagination):
    """Pagination by ``limit`` (1 to 500) results from ``cursor`` on, in the order of the queryset."""

    page_size = 50
    max_page_size = 500

    def paginate_queryset(  # type: ignore[override]  # a list has no order to go by
        self, queryset: QuerySet[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        self.address = request.build_absolute_uri()
        indexed_rows = getattr(getattr(view, "filterset", None), "indexed_rows", None)
        page = cursor_page(
            queryset, request.query_params.get("cursor", ""), self._parse_limit(request), indexed_rows=indexed_rows
        )
        self.following = page.following and self._cursor_address(page.following)
        self.preceding = page.preceding and self._cursor_address(page.preceding)
        return page.rows

    def _parse_limit(self, request: Request) -> int:
        limit_text = request.query_params.get("limit", "")
        if not limit_text:
            return self.page_size
        if limit_text.isascii() and limit_text.isdigit() and 1 <= int(limit_text[:9]) <= self.max_page_size:
            return int(limit_text)
        raise DRFValidationError({"limit": f"A page holds 1 to {self.max_page_size} results."})

    def _cursor_address(self, cursor: str) -> str:
        return replace_query_param(self.address, "cursor", cursor)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": self.following, "previous": self.preceding, "results": data})

    def get_paginated_response_schema(self, schema: Json) -> Json:
        link = {"type": "string", "format": "uri", "nullable": True}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[Json]:
        limit = {"type": "integer", "minimum": 1, "maximum": self.max_page_size, "default": self.page_size}
        return [
            _query_parameter("limit", limit, "How many results a page holds."),
            _query_parameter("cursor", {"type": "string"}, "Where the page begins; taken from `next` or `previous`."),
        ]


class ListPagination(CursorPagination):
    """Pagination of a list that is computed for each request: a cursor has the number of results before it."""

    def paginate_queryset(  # type: ignore[override]
        self, queryset: Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        self.address = request.build_absolute_uri()
        limit = self._parse_limit(request)
        cursor = request.query_params.get("cursor", "")
        place = decode_cursor(cursor, 1)[1][0] if cursor else 0
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise NotFound(INVALID)
        end = place + limit
        self.following = self._place_address(end) if end < len(queryset) else None
        self.preceding = self._place_address(max(place - limit, 0)) if place else None
        return list(queryset[place:end])

    def _place_address(self, place: int) -> str:
        return self._cursor_address(encode_cursor(False, [place]))


def _query_parameter(name: str, schema: Json, description: str) -> Json:
    return {"name": name, "required": False, "in": "query", "description": description, "schema": schema}
