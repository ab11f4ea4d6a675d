"""One filter for the list of policies, on the page and over REST."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django_filters import CharFilter, FilterSet, OrderingFilter

from kschedweb.policies.models import Policy


class PolicyFilter(FilterSet):
    search = CharFilter(method="filter_search", label="Search", help_text="Part of the name or the description.")
    ordering = OrderingFilter(fields=("name", "created_at"), label="Order")

    class Meta:
        model = Policy
        fields: list[str] = []

    def filter_search(self, queryset: QuerySet[Policy], name: str, value: str) -> QuerySet[Policy]:
        return queryset.filter(Q(name__icontains=value) | Q(description__icontains=value))
