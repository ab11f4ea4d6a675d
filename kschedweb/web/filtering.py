"""Filters of large tables: an index finds some rows, and conditions without an index are checked on these in steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import django_filters as filters
from django_filters.rest_framework import DjangoFilterBackend

from kschedweb.web.moments import MomentField

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from rest_framework.request import Request
    from rest_framework.views import APIView


class MomentFilter(filters.IsoDateTimeFilter):  # type: ignore[misc]
    """Rows from a moment on, or (``until``) before it. A day is taken whole."""

    field_class = MomentField

    def __init__(self, *, until: bool = False, **options: Any) -> None:
        super().__init__(lookup_expr="lt" if until else "gte", until=until, **options)


class GrowingFilterSet(filters.FilterSet):  # type: ignore[misc]
    """A FilterSet for a large table.

    ``indexed`` names the filters that an index supports in the order of the list. Of these, the first given one is
    applied with the days. ``within`` has the rows that remain then; ``None`` if there are no other filters.
    """

    indexed: ClassVar[tuple[str, ...]] = ()
    days: ClassVar[tuple[str, ...]] = ("since", "until")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        given = {name: value for name, value in self.form.cleaned_data.items() if value not in (None, "", [])}
        first = [name for name in self.indexed if name in given and self.answered(name, given[name])][:1]
        first += [name for name in self.days if name in given]
        rest = [name for name in given if name not in first]
        for name in first:
            queryset = self.filters[name].filter(queryset, given[name])
        self._within = queryset if rest else None
        for name in rest:
            queryset = self.filters[name].filter(queryset, given[name])
        return queryset

    def answered(self, name: str, value: Any) -> bool:
        """Whether the index of an indexed filter can be used for this value."""
        return True

    @property
    def within(self) -> QuerySet[Any] | None:
        _ = self.qs
        return self._within


class FilterBackend(DjangoFilterBackend):  # type: ignore[misc]
    """Stores the filter set on the view, where the pagination reads ``within``."""

    def get_filterset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> filters.FilterSet | None:
        view.filterset = super().get_filterset(request, queryset, view)  # type: ignore[attr-defined]
        return view.filterset  # type: ignore[attr-defined]
