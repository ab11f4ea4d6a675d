"""Reading policies and their revisions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.engine.config import load
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.revisions.selectors import numbered, with_newest

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.engine.config import Configuration

# The policy of kube-scheduler's defaults; a migration makes it and nobody can delete it.
DEFAULT_POLICY = "default"


def policy_list() -> QuerySet[Policy]:
    """All policies by name, each with ``newest`` (number), ``revision_count``, ``changed_at``, ``changed_by``."""
    return with_newest(Policy.objects.all(), Revision.objects.all(), "policy").order_by("name")


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
    return numbered(revision_list(policy), number, f"Policy {policy.name}")


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
