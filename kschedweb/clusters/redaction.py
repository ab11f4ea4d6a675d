"""Hides the names of pods in namespaces that the user may not view.

Answers are computed from the whole cluster, so that they are exact. Rows of other namespaces are not found at all
(``Covered(namespace=…)``). Names of other pods in an answer go through this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import Count, Q

from kschedweb.accounts.reach import can_see_namespace, namespaces_of
from kschedweb.clusters.models import NodeRow, PodRow, Snapshot
from kschedweb.clusters.rows import Problem
from kschedweb.engine.state.snapshot import FINISHED
from kschedweb.web.errors import NotFound

# Stands for the name of a pod in answers that programs read.
UNNAMED = "(another namespace)"


class PodNotFound(NotFound):
    """The engine's snapshot has no such pod."""


def in_part(cluster: UUID) -> bool:
    """Return whether the user sees only some namespaces of ``cluster``."""
    return namespaces_of(cluster) is not None


def pod_seen(snapshot: Snapshot, key: str, noun: str = "pod") -> None:
    """Raise NotFound if the user does not see the namespace of ``key``, "namespace/name"."""
    if not can_see_namespace(snapshot.cluster_id, key.partition("/")[0]):
        raise NotFound(f"The snapshot has no {noun} {key} in a namespace that you see.")


def pod_missing(snapshot: Snapshot, key: str) -> NotFound:
    """Return the error for a missing pod. It names the namespaces that have a pod of that name."""
    namespace, _, name = key.replace("\0", "").partition("/")
    rows = PodRow.objects.filter(snapshot=snapshot, name=name).exclude(namespace=namespace)
    spaces = list(rows.order_by("namespace").values_list("namespace", flat=True)[:4])
    elsewhere = f" There is one in {' and in '.join(spaces)}." if spaces else ""
    return NotFound(f"The snapshot has no pod {key[:320]} that a scheduler would look at.{elsewhere}")


@contextmanager
def pod_sought(snapshot: Snapshot, key: str) -> Iterator[None]:
    """Give a context that looks up the pod ``key``. Raises as ``pod_seen``, and ``pod_missing`` if it is not found."""
    pod_seen(snapshot, key)
    try:
        yield
    except PodNotFound:
        raise pod_missing(snapshot, key) from None


def redact_keys(cluster: UUID, keys: Iterable[str] | None) -> list[str] | None:
    """Return ``keys``, each "namespace/name", with ``UNNAMED`` in place of those that the user does not see."""
    if keys is None or not in_part(cluster):
        return keys if keys is None else list(keys)
    return [key if can_see_namespace(cluster, key.partition("/")[0]) else UNNAMED for key in keys]


def problems_seen(snapshot: Snapshot) -> list[Problem]:
    """Return the problems of ``snapshot``. Those about objects that the user does not see become one line."""
    problems: list[Problem] = snapshot.problems
    if not in_part(snapshot.cluster_id):
        return problems
    visible = [problem for problem in problems if _about_seen(snapshot.cluster_id, problem["object"])]
    hidden_count = len(problems) - len(visible)
    return [*visible, {"object": UNNAMED, "reason": f"{hidden_count:,} more problems"}] if hidden_count else visible


def _about_seen(cluster: UUID, subject: str) -> bool:
    """Return whether the user sees the object "Kind name" or "Kind namespace/name". Any other form counts as hidden."""
    kind, space, key = subject.partition(" ")
    namespace, slash, _ = key.partition("/")
    return bool(space and slash and can_see_namespace(cluster, namespace)) or (kind == "Node" and not slash)


def count_hidden_pods(snapshot: Snapshot) -> dict[str, int]:
    """Return the numbers of pods (``pods``) and pending pods (``waiting``) in namespaces that the user does not see.

    Both are 0 if the user sees the whole cluster.
    """
    if not in_part(snapshot.cluster_id):
        return {"pods": 0, "waiting": 0}
    rows = PodRow.objects.filter(snapshot=snapshot)
    visible = rows.aggregate(pods=Count("id"), waiting=Count("id", filter=Q(pending=True)))
    counts: Mapping[str, Any] = snapshot.counts
    return {
        "pods": max(counts.get("Pod", 0) - visible["pods"], 0),
        "waiting": max(counts.get("pending", 0) - visible["waiting"], 0),
    }


def others_on(snapshot: Snapshot, node: NodeRow) -> int:
    """Return the number of pods on ``node`` in namespaces that the user does not see."""
    if not in_part(snapshot.cluster_id):
        return 0
    visible = PodRow.objects.filter(snapshot=snapshot, node=node.name).exclude(phase__in=FINISHED).count()
    return max(node.pods_bound - visible, 0)
