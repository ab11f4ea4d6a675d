"""The rules of approvals over plain data: who may decide, and when enough people have approved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from django.utils.translation import ngettext

from kschedweb.accounts.roles import Role
from kschedweb.decisions.words import join_with_and

Ask = Mapping[str, Any]
# Roles as which each role counts, the preferred one first: an admin counts as an approver, too.
STANDS_FOR: dict[str, tuple[str, ...]] = {
    Role.APPROVER: (Role.APPROVER,),
    Role.ADMIN: (Role.ADMIN, Role.APPROVER),
}


def required_approvals(ask: Ask) -> dict[str, int]:
    """Return how many people of each role must approve."""
    return {approval["role"]: int(approval["count"]) for approval in ask.get("approvals", ())}


def missing_approvals(ask: Ask, roles: Iterable[str]) -> dict[str, int]:
    """Return how many approvals are missing by role after people of ``roles`` approved; empty if there are enough.

    Each person counts once: an admin as an admin while one is needed, else as an approver.
    """
    remaining = required_approvals(ask)
    # People who count as the fewest roles first: then nobody takes a place that only they could fill.
    for role in sorted(roles, key=lambda role: len(STANDS_FOR.get(role, ()))):
        for place in STANDS_FOR.get(role, ()):
            if remaining.get(place, 0) > 0:
                remaining[place] -= 1
                break
    return {role: count for role, count in remaining.items() if count > 0}


def counts_towards(ask: Ask, roles: Iterable[str], role: str) -> bool:
    """Return whether one more approval by a person of ``role`` reduces what is missing."""
    given_roles = list(roles)
    return sum(missing_approvals(ask, [*given_roles, role]).values()) < sum(
        missing_approvals(ask, given_roles).values()
    )


def may_decide(ask: Ask, role: str) -> bool:
    """Return whether people of ``role`` are asked at all."""
    return any(place in required_approvals(ask) for place in STANDS_FOR.get(role, ()))


def is_own(ask: Ask, username: str, email: str = "") -> bool:
    """Return whether this person created the pod, by its annotation, and the rule forbids deciding about own pods."""
    creator = str(ask.get("createdBy") or "").casefold()
    names = {name.casefold() for name in (username, email) if name}
    return ask.get("ownPods") == "Forbid" and creator in names


def digest_subject(ask: Ask, *, plugin: str, node: str, revision: int) -> str:
    """Return a digest of the subject of a denial: the pod as it is, its node, and the policy's revision.

    It is "" if the ask has no digest of the pod.
    """
    pod = ask.get("podDigest")
    return sha256(f"{pod}/{plugin}/{node}/{revision}".encode()).hexdigest() if pod else ""


def describe_people(count_by_role: Mapping[str, int]) -> str:
    """Return people in words, such as "one admin and 2 approvers"."""
    parts = [
        ngettext("one %(role)s", "%(count)s %(role)ss", count) % {"count": count, "role": str(Role(role).label).lower()}
        for role, count in count_by_role.items()
    ]
    return join_with_and(parts) if parts else ""
