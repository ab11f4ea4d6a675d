"""One filter for the list of scenarios, on the page and over REST."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django_filters import CharFilter, FilterSet, OrderingFilter

from kschedweb.scenarios.models import Scenario


class ScenarioFilter(FilterSet):
    search = CharFilter(method="filter_search", label="Search", help_text="Part of the name or the description.")
    ordering = OrderingFilter(fields=("name", "created_at"), label="Order")

    class Meta:
        model = Scenario
        fields: list[str] = []

    def filter_search(self, queryset: QuerySet[Scenario], name: str, value: str) -> QuerySet[Scenario]:
        return queryset.filter(Q(name__icontains=value) | Q(description__icontains=value))
