"""Filters of jobs, the same for page and REST."""

from __future__ import annotations

from typing import TYPE_CHECKING

import django_filters as filters

from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.selectors import title_condition
from kschedweb.web.filtering import GrowingFilterSet
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.db.models import QuerySet


class JobFilter(GrowingFilterSet):
    state = filters.ChoiceFilter(choices=JobState.choices, label=_("State"), empty_label=_("Any state"))
    search = filters.CharFilter(method="search_titles", label=_("Search"))

    indexed = ("state",)

    class Meta:
        model = Job
        fields: list[str] = []

    def search_titles(self, rows: QuerySet[Job], name: str, value: str) -> QuerySet[Job]:
        """Search only titles that the person may read."""
        return rows.filter(title_condition(self.request.user), title__icontains=value)
