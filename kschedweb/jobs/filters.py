"""Filters of jobs, the same for page and REST."""

from __future__ import annotations

import django_filters as filters

from kschedweb.jobs.models import Job, State


class JobFilter(filters.FilterSet):  # type: ignore[misc]
    state = filters.ChoiceFilter(choices=State.choices, label="State", empty_label="Any state")
    search = filters.CharFilter(field_name="title", lookup_expr="icontains", label="Search")

    class Meta:
        model = Job
        fields: list[str] = []
