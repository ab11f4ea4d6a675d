"""Reading documents and their revisions."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Count, Max, Model, OuterRef, QuerySet, Subquery
from django.http import Http404

# The largest value of a PositiveIntegerField: PostgreSQL refuses a query with a larger one.
_LARGEST = 2**31 - 1

OwnerModel = TypeVar("OwnerModel", bound=Model)
Saved = TypeVar("Saved", bound=Model)


def with_newest(owners: QuerySet[OwnerModel], revisions: QuerySet[Any], owner: str) -> QuerySet[OwnerModel]:
    """Return ``owners``, each with ``newest`` (number), ``revision_count``, ``changed_at`` and ``changed_by``.

    ``owner`` is the foreign key of ``revisions`` to ``owners``.
    """
    last = revisions.filter(**{owner: OuterRef("pk")}).order_by("-number")
    return owners.annotate(  # type: ignore[return-value]
        newest=Max("revisions__number"),
        revision_count=Count("revisions"),
        changed_at=Max("revisions__created_at"),
        changed_by=Subquery(last.values("author__username")[:1]),
    )


def get_revision(revisions: QuerySet[Saved], number: int | None, title: str) -> Saved:
    """Return revision ``number``, by default the newest. Raises ``Http404``, whose message begins with ``title``."""
    if number is not None:
        revisions = revisions.filter(number=number) if 0 < number <= _LARGEST else revisions.none()
    revision = revisions.order_by("-number").first()
    if revision is None:
        raise Http404(f"{title} has no revision {number or ''}".rstrip() + ".")
    return revision
