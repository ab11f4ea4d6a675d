"""Filters of the audit trail and of people, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django import forms
from django.db.models import Q, QuerySet
from django_filters.widgets import BooleanWidget

from kschedweb.accounts.audit import KINDS
from kschedweb.accounts.models import AuditEntry, User
from kschedweb.accounts.roles import Role

DATE = forms.DateInput(attrs={"type": "date"})
STATE = BooleanWidget()
STATE.choices = [("", "Any"), ("true", "Active"), ("false", "Deactivated")]


class AuditFilter(filters.FilterSet):  # type: ignore[misc]
    search = filters.CharFilter(method="find", label="Search")
    kind = filters.ChoiceFilter(method="of_kind", choices=list(KINDS.items()), label="Kind", empty_label="Any kind")
    actor = filters.CharFilter(field_name="actor_name", lookup_expr="iexact", label="Who")
    verb = filters.CharFilter(lookup_expr="istartswith", label="What")
    object_type = filters.CharFilter(lookup_expr="iexact", label="Kind of thing")
    object_name = filters.CharFilter(lookup_expr="iexact", label="Name of thing")
    address = filters.CharFilter(lookup_expr="iexact", label="Address")
    since = filters.DateFilter(field_name="at", lookup_expr="date__gte", label="From", widget=DATE)
    until = filters.DateFilter(field_name="at", lookup_expr="date__lte", label="To", widget=DATE)

    class Meta:
        model = AuditEntry
        fields: list[str] = []

    def find(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        matches = Q(actor_name__icontains=value) | Q(verb__icontains=value) | Q(object_name__icontains=value)
        return queryset.filter(matches)

    def of_kind(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        return queryset.filter(verb__startswith=f"{value}.")


class UserFilter(filters.FilterSet):  # type: ignore[misc]
    search = filters.CharFilter(field_name="username", lookup_expr="icontains", label="Search")
    role = filters.ChoiceFilter(choices=Role.choices, label="Role", empty_label="Any role")
    is_active = filters.BooleanFilter(label="State", widget=STATE)

    class Meta:
        model = User
        fields: list[str] = []
