"""Filters of verdicts, the same for page and REST."""

from __future__ import annotations

import django_filters as filters
from django.db.models import Q, QuerySet

from kschedweb.live.shadow.models import ShadowVerdict, VerdictChoice
from kschedweb.web.filtering import GrowingFilterSet
from kschedweb.web.translating import gettext_lazy as _


class VerdictFilter(GrowingFilterSet):
    search = filters.CharFilter(method="find", label=_("Pod, node or message contains"), max_length=253)
    namespace = filters.CharFilter(label=_("Namespace"), max_length=63)
    verdict = filters.ChoiceFilter(choices=VerdictChoice.choices, label=_("Verdict"), empty_label=_("Any verdict"))
    plugin = filters.CharFilter(label=_("Plugin"), max_length=253)

    indexed = ("namespace", "verdict")

    class Meta:
        model = ShadowVerdict
        fields: list[str] = []

    def find(self, rows: QuerySet[ShadowVerdict], name: str, value: str) -> QuerySet[ShadowVerdict]:
        holds = Q(name__icontains=value) | Q(node__icontains=value) | Q(message__icontains=value)
        return rows.filter(holds)
