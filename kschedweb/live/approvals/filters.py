"""Filters of requests, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django.db.models import Q, QuerySet

from kschedweb.live.approvals.models import ApprovalRequest, ApprovalState
from kschedweb.web.filtering import BooleanFilter, BooleanSelect, GrowingFilterSet, MomentFilter
from kschedweb.web.translating import gettext_lazy as _


class RequestFilter(GrowingFilterSet):
    search = filters.CharFilter(method="find", label=_("Pod, node or person"))
    state = filters.ChoiceFilter(choices=ApprovalState.choices, label=_("State"), empty_label=_("Any state"))
    open = BooleanFilter(label=_("Open"), widget=BooleanSelect(_("Open"), _("Ended")))
    cluster = filters.CharFilter(field_name="scheduler__cluster__name", label=_("Cluster"))
    namespace = filters.CharFilter(label=_("Namespace"))
    since = MomentFilter(field_name="asked_at", label=_("From"))
    until = MomentFilter(field_name="asked_at", label=_("To"), is_end=True)

    indexed = ("namespace", "state")

    class Meta:
        model = ApprovalRequest
        fields: list[str] = []

    def find(self, queryset: QuerySet[ApprovalRequest], name: str, value: str) -> QuerySet[ApprovalRequest]:
        return queryset.filter(Q(name__icontains=value) | Q(node__icontains=value) | Q(decided_by__icontains=value))
