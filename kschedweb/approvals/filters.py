"""Filters of requests, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django import forms
from django.db.models import Q, QuerySet
from django_filters.widgets import BooleanWidget

from kschedweb.approvals.models import ApprovalRequest, State

DATE = forms.DateInput(attrs={"type": "date"})
OPEN = BooleanWidget()
OPEN.choices = [("", "Any"), ("true", "Open"), ("false", "Ended")]


class RequestFilter(filters.FilterSet):  # type: ignore[misc]
    search = filters.CharFilter(method="find", label="Pod, node or person")
    state = filters.ChoiceFilter(choices=State.choices, label="State", empty_label="Any state")
    open = filters.BooleanFilter(label="Open", widget=OPEN)
    cluster = filters.CharFilter(field_name="scheduler__cluster__name", label="Cluster")
    namespace = filters.CharFilter(label="Namespace")
    since = filters.DateFilter(field_name="asked_at", lookup_expr="date__gte", label="From", widget=DATE)
    until = filters.DateFilter(field_name="asked_at", lookup_expr="date__lte", label="To", widget=DATE)

    class Meta:
        model = ApprovalRequest
        fields: list[str] = []

    def find(self, queryset: QuerySet[ApprovalRequest], name: str, value: str) -> QuerySet[ApprovalRequest]:
        return queryset.filter(Q(name__icontains=value) | Q(node__icontains=value) | Q(decided_by__icontains=value))
