"""The filters of the node and pod lists, each for its page and its REST resource."""

from __future__ import annotations

import django_filters
from django.db.models import Q, QuerySet

from kschedweb.clusters.models import EventRow, NodeRow, PodRow
from kschedweb.web.filtering import BooleanFilter
from kschedweb.web.translating import gettext_lazy as _

# No label has this value.
NO_ZONE = "-"


class NodeFilter(django_filters.FilterSet):  # type: ignore[misc]
    search = django_filters.CharFilter(method="by_search", label=_("Name or instance type contains"), max_length=253)
    zone = django_filters.CharFilter(method="by_zone", label=_("Zone, - for none"), max_length=253)
    instance_type = django_filters.CharFilter(field_name="instance_type", label=_("Instance type"), max_length=253)
    ready = BooleanFilter(field_name="ready", label=_("Ready"))
    unschedulable = BooleanFilter(field_name="unschedulable", label=_("Cordoned"))
    tainted = BooleanFilter(method="by_tainted", label=_("Tainted"))
    ordering = django_filters.OrderingFilter(
        fields=(
            ("name", "name"),
            ("zone", "zone"),
            ("instance_type", "instance_type"),
            ("cpu_share", "cpu"),
            ("memory_share", "memory"),
            ("pods_bound", "pods"),
            ("cpu_allocatable", "cpu_allocatable"),
            ("memory_allocatable", "memory_allocatable"),
        ),
        label=_("Order"),
    )

    class Meta:
        model = NodeRow
        fields: list[str] = []

    def by_search(self, rows: QuerySet[NodeRow], name: str, value: str) -> QuerySet[NodeRow]:
        return rows.filter(Q(name__icontains=value) | Q(instance_type__icontains=value))

    def by_zone(self, rows: QuerySet[NodeRow], name: str, value: str) -> QuerySet[NodeRow]:
        return rows.filter(zone="" if value == NO_ZONE else value)

    def by_tainted(self, rows: QuerySet[NodeRow], name: str, value: bool) -> QuerySet[NodeRow]:
        return rows.exclude(taints=[]) if value else rows.filter(taints=[])


class PodFilter(django_filters.FilterSet):  # type: ignore[misc]
    search = django_filters.CharFilter(method="by_search", label=_("Name, owner or message contains"), max_length=253)
    namespace = django_filters.CharFilter(field_name="namespace", label=_("Namespace"), max_length=63)
    node = django_filters.CharFilter(field_name="node", label=_("Node"), max_length=253)
    scheduler = django_filters.CharFilter(field_name="scheduler_name", label=_("Scheduler"), max_length=253)
    group = django_filters.CharFilter(field_name="pod_group", label=_("Group"), max_length=253)
    pending = BooleanFilter(field_name="pending", label=_("Pending"))
    gated = BooleanFilter(field_name="gated", label=_("Gated"))
    ordering = django_filters.OrderingFilter(
        fields=(
            ("pending", "pending"),
            ("namespace", "namespace"),
            ("name", "name"),
            ("node", "node"),
            ("priority", "priority"),
            ("cpu_request", "cpu"),
            ("memory_request", "memory"),
            ("created_at", "created"),
        ),
        label=_("Order"),
    )

    class Meta:
        model = PodRow
        fields: list[str] = []

    def by_search(self, rows: QuerySet[PodRow], name: str, value: str) -> QuerySet[PodRow]:
        return rows.filter(Q(name__icontains=value) | Q(owner__icontains=value) | Q(message__icontains=value))


class EventFilter(django_filters.FilterSet):  # type: ignore[misc]
    kind = django_filters.CharFilter(field_name="kind", label=_("Kind of the object, such as Pod"), max_length=63)
    namespace = django_filters.CharFilter(field_name="namespace", label=_("Namespace"), max_length=63)
    name = django_filters.CharFilter(field_name="name", label=_("Name of the object"), max_length=253)
    type = django_filters.CharFilter(field_name="type", label=_("Normal or Warning"), max_length=16)
    reason = django_filters.CharFilter(field_name="reason", label=_("Reason, such as FailedScheduling"), max_length=128)
    source = django_filters.CharFilter(field_name="source", label=_("Program that wrote it"), max_length=253)

    class Meta:
        model = EventRow
        fields: list[str] = []
