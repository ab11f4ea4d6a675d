"""Filters of the audit trail and of people, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django.db.models import Q, QuerySet, Value
from django.db.models.functions import Upper

from kschedweb.accounts.audit import KINDS
from kschedweb.accounts.models import AuditEntry, User
from kschedweb.accounts.roles import Role
from kschedweb.web.filtering import BooleanFilter, BooleanSelect, GrowingFilterSet, MomentFilter
from kschedweb.web.translating import gettext_lazy as _


class AuditFilter(GrowingFilterSet):
    search = filters.CharFilter(method="find", label=_("Search"))
    kind = filters.ChoiceFilter(
        method="of_area", choices=list(KINDS.items()), label=_("Kind"), empty_label=_("Any kind")
    )
    actor = filters.CharFilter(field_name="actor_name", method="exactly", label=_("Who"))
    verb = filters.CharFilter(method="by_verb", label=_("What"))
    object_type = filters.CharFilter(method="of_kind", label=_("Object type"))
    object_name = filters.CharFilter(method="exactly", label=_("Object name"))
    address = filters.CharFilter(lookup_expr="iexact", label=_("Address"))
    since = MomentFilter(field_name="at", label=_("From"))
    until = MomentFilter(field_name="at", label=_("To"), is_end=True)

    indexed = ("object_name", "actor", "verb", "object_type")

    class Meta:
        model = AuditEntry
        fields: list[str] = []

    def find(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        matches = Q(actor_name__icontains=value) | Q(verb__icontains=value) | Q(object_name__icontains=value)
        return queryset.filter(matches)

    def can_use_index(self, name: str, value: str) -> bool:
        return name != "verb" or self.queryset.filter(verb=value.lower()).exists()

    def exactly(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        """Filter without regard to case, in the form that an index on the upper-case field answers."""
        return queryset.alias(**{f"upper_{name}": Upper(name)}).filter(**{f"upper_{name}": Upper(Value(value))})

    def of_kind(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        return queryset.filter(object_type=value.lower().replace(" ", ""))

    def by_verb(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        """Filter by the verb, such as ``policy.saved``; if no entry has it, by the beginning of verbs."""
        whole = self.can_use_index("verb", value)
        return queryset.filter(**{"verb" if whole else "verb__startswith": value.lower()})

    def of_area(self, queryset: QuerySet[AuditEntry], name: str, value: str) -> QuerySet[AuditEntry]:
        return queryset.filter(verb__startswith=f"{value}.")


class UserFilter(filters.FilterSet):  # type: ignore[misc]
    search = filters.CharFilter(field_name="username", lookup_expr="icontains", label=_("Search"))
    role = filters.ChoiceFilter(choices=Role.choices, label=_("Role"), empty_label=_("Any role"))
    is_active = BooleanFilter(label=_("State"), widget=BooleanSelect(_("Active"), _("Deactivated")))

    class Meta:
        model = User
        fields: list[str] = []
