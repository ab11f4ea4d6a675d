"""Read endpoints and their deliveries."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet
from django.http import Http404

from kschedweb.live.approvals.models import Delivered, Delivery, Endpoint


def endpoint_list() -> QuerySet[Endpoint]:
    """Return all endpoints by name, with their ``pending`` and ``failed`` messages and the time of the ``last``."""
    return Endpoint.objects.annotate(
        pending=Count("deliveries", filter=Q(deliveries__state=Delivered.PENDING)),
        failed=Count("deliveries", filter=Q(deliveries__state=Delivered.FAILED)),
        last=Max("deliveries__created_at"),
    )


def endpoint_get(endpoint_id: UUID | str) -> Endpoint:
    """Return one endpoint. Raise ``Http404`` if there is none."""
    endpoint = Endpoint.objects.filter(pk=endpoint_id).first()
    if endpoint is None:
        raise Http404("There is no such endpoint.")
    return endpoint


def delivery_list(endpoint: Endpoint) -> QuerySet[Delivery]:
    """Return the deliveries to ``endpoint``, newest first."""
    return endpoint.deliveries.select_related("request")
