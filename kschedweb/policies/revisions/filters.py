"""The filter of a list of documents, for the page and REST; subclasses set the model."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django_filters import CharFilter, FilterSet, OrderingFilter


class DocumentFilter(FilterSet):
    search = CharFilter(method="filter_search", label="Search", help_text="Part of the name or the description.")
    ordering = OrderingFilter(fields=("name", "created_at"), label="Order", empty_label="By name")

    def filter_search(self, queryset: QuerySet[Any], name: str, value: str) -> QuerySet[Any]:
        return queryset.filter(Q(name__icontains=value) | Q(description__icontains=value))
