"""Reviews the permissions of credentials in a cluster, and what is missing without each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from kschedweb.clusters.connecting.client import Client, ClusterError
from kschedweb.clusters.kinds import EVENT, KINDS, ObjectKind

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WITHOUT_WATCH = "a refresh reads the whole list again"
WITHOUT_WATCHED_EVENTS = "Events are read at refreshes only, also while the flight recorder runs"


class Permission(TypedDict):
    resource: str
    verb: str
    allowed: bool
    costs: str


def permissions_review(client: Client) -> list[Permission]:
    """Review each served kind and verb (list, watch). Permissions that are missing say what that costs.

    The list is empty if the credentials may not make reviews; then reading shows what is missing.
    """
    with ThreadPoolExecutor(8, thread_name_prefix="access-review") as pool:
        try:
            served = list(pool.map(lambda kind: not kind.optional or is_served(client, kind), KINDS))
            kinds = [kind for kind, present in zip(KINDS, served, strict=True) if present] + [EVENT]
            questions = [(kind, verb) for kind in kinds for verb in ("list", "watch")]
            answers = list(pool.map(lambda question: is_allowed(client, *question), questions))
        except ClusterError as error:
            if error.code in (403, 404):
                return []
            raise
    return [
        Permission(
            resource=kind.resource,
            verb=verb,
            allowed=answer,
            costs=kind.costs if verb == "list" else costs_without_watch(kind),
        )
        for (kind, verb), answer in zip(questions, answers, strict=True)
    ]


def costs_without_watch(kind: ObjectKind) -> str:
    return WITHOUT_WATCHED_EVENTS if kind is EVENT else WITHOUT_WATCH


def is_served(client: Client, kind: ObjectKind) -> bool:
    """Return whether the cluster serves this kind; True if that is unknown."""
    try:
        answer = client.get(f"/apis/{kind.group}/{kind.version}")
    except ClusterError as error:
        if error.code == 403:
            return True
        if error.code == 404:
            return False
        raise
    listed = answer.get("resources") if isinstance(answer, dict) else None
    if not isinstance(listed, list):
        return True
    return any(isinstance(item, dict) and item.get("name") == kind.resource for item in listed)


def is_allowed(client: Client, kind: ObjectKind, verb: str) -> bool:
    """Return whether the credentials may ``verb`` objects of ``kind`` everywhere in the cluster."""
    attributes = {"group": kind.group, "resource": kind.resource, "verb": verb}
    answer = client.create(
        REVIEWS,
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        },
    )
    status = answer.get("status") if isinstance(answer, dict) else None
    return isinstance(status, dict) and status.get("allowed") is True
