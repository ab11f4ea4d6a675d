"""Filters of live decisions, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django.db.models import Q, QuerySet

from kschedweb.live.schedulers.models import LiveDecision, Result
from kschedweb.web.filtering import GrowingFilterSet, MomentFilter
from kschedweb.web.translating import gettext_lazy as _


class DecisionFilter(GrowingFilterSet):
    search = filters.CharFilter(method="find", label=_("Pod, node or message contains"), max_length=253)
    namespace = filters.CharFilter(label=_("Namespace"), max_length=63)
    result = filters.ChoiceFilter(choices=Result.choices, label=_("Result"), empty_label=_("Any result"))
    node = filters.CharFilter(label=_("Node"), max_length=253)
    since = MomentFilter(field_name="at", label=_("From"))
    until = MomentFilter(field_name="at", label=_("To"), is_end=True)

    indexed = ("node", "namespace", "result")

    class Meta:
        model = LiveDecision
        fields: list[str] = []

    def find(self, rows: QuerySet[LiveDecision], name: str, value: str) -> QuerySet[LiveDecision]:
        holds = Q(name__icontains=value) | Q(node__icontains=value) | Q(message__icontains=value)
        return rows.filter(holds)
