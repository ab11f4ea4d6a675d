"""Filters of verdicts, for the page and REST."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django_filters import CharFilter, ChoiceFilter, FilterSet

from kschedweb.playground.gate.models import Gate
from kschedweb.web.translating import gettext_lazy as _

# Values of Gate.passed by those of the filter.
PASSED = {"pass": True, "fail": False, "none": None}
CHOICES = [("pass", _("Pass")), ("fail", _("Fail")), ("none", _("None yet"))]


class GateFilter(FilterSet):
    verdict = ChoiceFilter(choices=CHOICES, method="filter_verdict", label=_("Verdict"), empty_label=_("Any verdict"))
    search = CharFilter(
        method="filter_search",
        label=_("Search"),
        help_text=_("Part of the policy's, the baseline's or the cluster's name."),
    )

    class Meta:
        model = Gate
        fields: list[str] = []

    def filter_verdict(self, queryset: QuerySet[Gate], name: str, value: str) -> QuerySet[Gate]:
        return queryset.filter(passed=PASSED[value])

    def filter_search(self, queryset: QuerySet[Gate], name: str, value: str) -> QuerySet[Gate]:
        return queryset.filter(Q(policy__icontains=value) | Q(baseline__icontains=value) | Q(about__icontains=value))
