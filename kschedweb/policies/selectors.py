"""Reading policies and their revisions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.http import Http404

from kschedweb.engine.config import load
from kschedweb.policies.models import Policy, Revision

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration

# The policy of kube-scheduler's defaults; a migration makes it and nobody can delete it.
DEFAULT_POLICY = "default"
_NUMBER_LIMIT = 2**31 - 1


def policy_list() -> QuerySet[Policy]:
    """All policies by name, each with ``newest`` (number), ``revision_count``, ``changed_at``, ``changed_by``."""
    newest = Revision.objects.filter(policy=OuterRef("pk")).order_by("-number")
    return Policy.objects.annotate(  # type: ignore[no-redef]
        newest=Max("revisions__number"),
        revision_count=Count("revisions"),
        changed_at=Max("revisions__created_at"),
        changed_by=Subquery(newest.values("author__username")[:1]),
    ).order_by("name")


def policy_get(name: str) -> Policy:
    """The policy ``name``; ``Http404`` that names it otherwise."""
    policy = policy_list().filter(name=name).first()
    if policy is None:
        raise Http404(f"There is no policy named {name}.")
    return policy


def revision_list(policy: Policy) -> QuerySet[Revision]:
    """Newest first."""
    return policy.revisions.select_related("policy", "author").order_by("-number")


def revision_get(policy: Policy, number: int | None = None) -> Revision:
    """Revision ``number``, ``None`` for the newest; ``Http404`` where there is none."""
    revisions = revision_list(policy)
    if number is None:
        found = revisions.first()
    else:
        found = revisions.filter(number=number).first() if 0 < number <= _NUMBER_LIMIT else None
    if found is None:
        raise Http404(
            f"Policy {policy.name} has no revision {number}." if number else f"Policy {policy.name} is empty."
        )
    return found


def configuration(revision: Revision) -> Configuration:
    """The engine's configuration that ``revision`` stands for; kept, since a revision never changes."""
    return _configuration(revision.pk, revision.document)


@lru_cache(maxsize=64)
def _configuration(_pk: int, document: str) -> Configuration:
    loaded = load(document)
    if loaded.configuration is None:
        # Saved documents were valid; a later engine may see it otherwise.
        raise ValueError("; ".join(loaded.errors))
    return loaded.configuration
