"""What credentials may do in a cluster, and what each missing permission costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TypedDict

from kschedweb.clusters.client import Client, ClusterError
from kschedweb.clusters.kinds import KINDS, Kind

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WITHOUT_WATCH = "a refresh reads the whole list again"


class Permission(TypedDict):
    resource: str
    verb: str
    allowed: bool
    costs: str


def permissions_review(client: Client) -> list[Permission]:
    """One access review a kind and verb (list, watch), the missing ones with what they cost.

    Empty where the cluster does not let these credentials ask; reading then shows what is missing.
    """
    asked = [(kind, verb) for kind in KINDS for verb in ("list", "watch")]
    with ThreadPoolExecutor(8, thread_name_prefix="access-review") as pool:
        try:
            answers = list(pool.map(lambda question: _allowed(client, *question), asked))
        except ClusterError as error:
            if error.code in (403, 404):
                return []
            raise
    return [
        Permission(
            resource=kind.resource,
            verb=verb,
            allowed=allowed,
            costs=kind.costs if verb == "list" else WITHOUT_WATCH,
        )
        for (kind, verb), allowed in zip(asked, answers, strict=True)
    ]


def _allowed(client: Client, kind: Kind, verb: str) -> bool:
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
