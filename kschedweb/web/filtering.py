"""Filters of lists, for pages and REST. In large tables an index finds some rows, and other conditions narrow them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import django_filters as filters
from django import forms
from django_filters.rest_framework import DjangoFilterBackend
from django_filters.widgets import BooleanWidget

from kschedweb.web.moments import MomentField
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django_stubs_ext import StrOrPromise
    from rest_framework.request import Request
    from rest_framework.views import APIView


class BooleanSelect(BooleanWidget):  # type: ignore[misc]
    """A choice between yes, no and either."""

    def __init__(self, yes: StrOrPromise = "", no: StrOrPromise = "") -> None:
        super().__init__()
        self.choices = [("", _("Any")), ("true", yes or _("Yes")), ("false", no or _("No"))]

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        # Unchanged, so that the field can refuse it.
        return data.get(name)


class BooleanField(forms.NullBooleanField):
    """A field of true, false or nothing. Any other text is an error, which Django's field takes for nothing."""

    widget = BooleanSelect
    default_error_messages = {"invalid": _("Must be true or false.")}

    def to_python(self, value: Any) -> bool | None:  # type: ignore[override]
        if value in (None, ""):
            return None
        boolean = {"true": True, "false": False}.get(str(value).lower())
        if boolean is None:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return boolean


class BooleanFilter(filters.BooleanFilter):  # type: ignore[misc]
    field_class = BooleanField


class MomentFilter(filters.IsoDateTimeFilter):  # type: ignore[misc]
    """A filter for rows from a moment on, or (``is_end``) before it. A day counts as a whole."""

    field_class = MomentField

    def __init__(self, *, is_end: bool = False, **options: Any) -> None:
        super().__init__(lookup_expr="lt" if is_end else "gte", is_end=is_end, **options)


class GrowingFilterSet(filters.FilterSet):  # type: ignore[misc]
    """A FilterSet for a large table."""

    # Filters that an index supports in the order of the list. Only the first given one is applied with the days.
    indexed: ClassVar[tuple[str, ...]] = ()
    # Filters by time, which the same index supports.
    days: ClassVar[tuple[str, ...]] = ("since", "until")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        values = {name: value for name, value in self.form.cleaned_data.items() if value not in (None, "", [])}
        first = [name for name in self.indexed if name in values and self.can_use_index(name, values[name])][:1]
        first += [name for name in self.days if name in values]
        unindexed = [name for name in values if name not in first]
        for name in first:
            queryset = self.filters[name].filter(queryset, values[name])
        # The rows that an index finds; None if there are no other conditions.
        self._within = queryset if unindexed else None
        for name in unindexed:
            queryset = self.filters[name].filter(queryset, values[name])
        return queryset

    def can_use_index(self, name: str, value: Any) -> bool:
        """Return whether the index of an indexed filter can be used for this value."""
        return True

    @property
    def indexed_rows(self) -> QuerySet[Any] | None:
        _ = self.qs
        return self._within


class FilterBackend(DjangoFilterBackend):  # type: ignore[misc]
    """Stores the filter set on the view, where the pagination reads ``indexed_rows``."""

    def get_filterset(self, request: Request, queryset: QuerySet[Any], view: APIView) -> filters.FilterSet | None:
        view.filterset = super().get_filterset(request, queryset, view)  # type: ignore[attr-defined]
        return view.filterset  # type: ignore[attr-defined]
