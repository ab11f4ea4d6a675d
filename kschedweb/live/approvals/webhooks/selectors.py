"""Reading endpoints and what was sent to them."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.http import Http404

from kschedweb.live.approvals.models import Delivered, Delivery, Endpoint


def endpoint_list() -> QuerySet[Endpoint]:
    """All endpoints by name, with ``pending`` and ``failed`` messages and when the ``last`` one was made."""
    return Endpoint.objects.annotate(
        pending=Count("deliveries", filter=Q(deliveries__state=Delivered.PENDING)),
        failed=Count("deliveries", filter=Q(deliveries__state=Delivered.FAILED)),
        last=Max("deliveries__created_at"),
    )


def endpoint_get(endpoint_id: UUID | str) -> Endpoint:
    """One endpoint; ``Http404`` where there is none."""
    endpoint = Endpoint.objects.filter(pk=endpoint_id).first()
    if endpoint is None:
        raise Http404("There is no such endpoint.")
    return endpoint


def delivery_list(endpoint: Endpoint) -> QuerySet[Delivery]:
    """What was sent to ``endpoint``, newest first."""
    return endpoint.deliveries.select_related("request")
