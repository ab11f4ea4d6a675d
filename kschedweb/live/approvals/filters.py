"""Filters of requests, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django.db.models import Q, QuerySet
from django_filters.widgets import BooleanWidget

from kschedweb.live.approvals.models import ApprovalRequest, State
from kschedweb.web.filtering import DayFilter, GrowingFilterSet

OPEN = BooleanWidget()
OPEN.choices = [("", "Any"), ("true", "Open"), ("false", "Ended")]


class RequestFilter(GrowingFilterSet):
    search = filters.CharFilter(method="find", label="Pod, node or person")
    state = filters.ChoiceFilter(choices=State.choices, label="State", empty_label="Any state")
    open = filters.BooleanFilter(label="Open", widget=OPEN)
    cluster = filters.CharFilter(field_name="scheduler__cluster__name", label="Cluster")
    namespace = filters.CharFilter(label="Namespace")
    since = DayFilter(field_name="asked_at", label="From")
    until = DayFilter(field_name="asked_at", label="To", until=True)

    indexed = ("namespace", "state")

    class Meta:
        model = ApprovalRequest
        fields: list[str] = []

    def find(self, queryset: QuerySet[ApprovalRequest], name: str, value: str) -> QuerySet[ApprovalRequest]:
        return queryset.filter(Q(name__icontains=value) | Q(node__icontains=value) | Q(decided_by__icontains=value))
