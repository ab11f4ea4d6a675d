"""Filters of jobs, the same for page and REST."""

from __future__ import annotations

import django_filters as filters

from kschedweb.dashboard.filtering import GrowingFilterSet
from kschedweb.jobs.models import Job, State


class JobFilter(GrowingFilterSet):
    state = filters.ChoiceFilter(choices=State.choices, label="State", empty_label="Any state")
    search = filters.CharFilter(field_name="title", lookup_expr="icontains", label="Search")

    indexed = ("state",)

    class Meta:
        model = Job
        fields: list[str] = []
