"""Filters of the fleet, for its page and REST."""

from __future__ import annotations

import django_filters
from django.db.models import Q, QuerySet

from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.fleet.selectors import ORDERS, UNKNOWN_RELEASE
from kschedweb.web.translating import gettext_lazy as _


class FleetFilter(django_filters.FilterSet):  # type: ignore[misc]
    search = django_filters.CharFilter(
        field_name="name", lookup_expr="icontains", label=_("Name contains"), max_length=63
    )
    release = django_filters.CharFilter(method="by_release", label=_("Release, such as 1.36"), max_length=16)
    source = django_filters.ChoiceFilter(choices=ClusterSource.choices, label=_("Source"), empty_label=_("Any"))

    class Meta:
        model = Cluster
        fields: list[str] = []

    def by_release(self, rows: QuerySet[Cluster], name: str, value: str) -> QuerySet[Cluster]:
        if value == UNKNOWN_RELEASE:
            return rows.filter(server_version="")
        return rows.filter(Q(server_version__startswith=f"v{value}.") | Q(server_version__startswith=f"{value}."))


ORDERINGS = sorted([*ORDERS, *(f"-{name}" for name in ORDERS)])
