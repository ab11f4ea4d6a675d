"""The filter of a list of documents, for the page and REST; subclasses set the model."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django_filters import CharFilter, FilterSet, OrderingFilter

from kschedweb.web.translating import gettext_lazy as _


class DocumentFilter(FilterSet):
    search = CharFilter(method="filter_search", label=_("Search"), help_text=_("Part of the name or the description."))
    ordering = OrderingFilter(
        fields=("name", "created_at"),
        field_labels={
            "name": _("Name"),
            "-name": _("Name (descending)"),
            "created_at": _("Created at"),
            "-created_at": _("Created at (descending)"),
        },
        label=_("Order"),
        empty_label=_("By name"),
    )

    def filter_search(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return queryset.filter(Q(name__icontains=value) | Q(description__icontains=value))
