"""Filters of questions, for the page and REST."""

from __future__ import annotations

from django.db.models import Q, QuerySet
from django_filters import CharFilter, FilterSet

from kschedweb.playground.migration.models import Question
from kschedweb.web.translating import gettext_lazy as _


class QuestionFilter(FilterSet):
    search = CharFilter(
        method="filter_search", label=_("Search"), help_text=_("Part of a policy's name, or of the cluster's.")
    )

    class Meta:
        model = Question
        fields: list[str] = []

    def filter_search(self, queryset: QuerySet[Question], name: str, value: str) -> QuerySet[Question]:
        by_policy = Q(classic_label__icontains=value) | Q(profile_label__icontains=value)
        return queryset.filter(by_policy | Q(about__icontains=value))
