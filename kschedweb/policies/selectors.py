"""Reading policies and their revisions."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from django.http import Http404

from kschedweb.engine.classic import Registry, edition_of, load_policy
from kschedweb.engine.config import load
from kschedweb.policies.models import Kind, Policy, Revision
from kschedweb.policies.revisions.selectors import numbered, with_newest
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from kschedweb.engine.classic import Algorithm
    from kschedweb.engine.config import Configuration

# The policy of kube-scheduler's defaults; a migration makes it and nobody can delete it.
DEFAULT_POLICY = "default"


def policy_list(kind: Kind | None = None) -> QuerySet[Policy]:
    """Policies by name, each with ``newest`` (number), ``revision_count``, ``changed_at``, ``changed_by``.

    With ``kind`` only those of that kind.
    """
    chosen = Policy.objects.filter(**({"kind": kind} if kind else {}))
    return with_newest(chosen, Revision.objects.all(), "policy").order_by("name")


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


def profiles_only(revision: Revision, path: str = "") -> Revision:
    """``revision`` where it is of profiles; ``Unprocessable`` at the field ``path`` where it is a classic one."""
    if revision.policy.kind == Kind.CLASSIC:
        said = (
            f"{revision.policy.name} is a classic policy, which only decisions and comparisons with profiles take: "
            "convert it into a KubeSchedulerConfiguration, and use that policy here."
        )
        raise Unprocessable.at(path, said) if path else Unprocessable(said)
    return revision


def classic_only(revision: Revision, path: str = "") -> Revision:
    """``revision`` where it is a classic one; ``Unprocessable`` at the field ``path`` where it is of profiles."""
    if revision.policy.kind != Kind.CLASSIC:
        said = f"{revision.policy.name} is a policy of profiles: choose a classic one (kind: Policy)."
        raise Unprocessable.at(path, said) if path else Unprocessable(said)
    return revision


def configuration(revision: Revision) -> Configuration:
    """The engine's configuration that ``revision`` stands for; kept, since a revision never changes.

    ``Unprocessable`` for a classic one.
    """
    return _configuration(profiles_only(revision).pk, revision.document)


@lru_cache(maxsize=64)
def _configuration(_pk: int, document: str) -> Configuration:
    loaded = load(document)
    if loaded.configuration is None:
        # Saved documents were valid; a later engine may see it otherwise.
        raise ValueError("; ".join(loaded.errors))
    return loaded.configuration


def algorithm(revision: Revision) -> Algorithm:
    """What runs under the classic ``revision``; kept, since a revision never changes.

    ``Unprocessable`` for one of profiles.
    """
    return _algorithm(classic_only(revision).pk, revision.document, json.dumps(revision.process, sort_keys=True))


@lru_cache(maxsize=64)
def _algorithm(_pk: int, document: str, process: str) -> Algorithm:
    loaded = load_policy(document)
    if loaded.policy is None:
        raise ValueError("; ".join(loaded.errors))
    # A registry is one process: weights of one policy would hold for the next one too.
    return Registry(edition_of(json.loads(process))).algorithm(loaded.policy)
