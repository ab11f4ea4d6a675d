"""Read the snapshot, the pod and the policy revisions that an address names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import F, Max, Q, Value
from django.db.models.functions import Concat
from django.utils.translation import gettext

from kschedweb.clusters.models import PodRow
from kschedweb.clusters.selectors import cluster_get, snapshot_current, snapshot_get
from kschedweb.engine.releases.classic.descriptions import describe_rule
from kschedweb.policies.dialects import CONVERTIBLE, DECIDING
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import deciding_only, load_algorithm, policy_get, profiles_only, revision_get
from kschedweb.web.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

    from kschedweb.clusters.models import Snapshot


def snapshot_asked(cluster: str, snapshot: str = "") -> Snapshot:
    """Return the named snapshot of a cluster, or the newest if ``snapshot`` is empty. Raise Http404 or NotFound."""
    selected_cluster = cluster_get(cluster)
    if snapshot:
        return snapshot_get(selected_cluster, snapshot)
    current = snapshot_current(selected_cluster)
    if current is None:
        raise NotFound(f"Cluster {cluster} has not been read yet: refresh it first.")
    return current


def revision_asked(policy: str, number: str = "", path: str = "") -> Revision:
    """Return revision ``number`` of ``policy``, or the newest if ``number`` is empty.

    Raises Http404 or NotFound, and Unprocessable at the field ``path`` for a policy that places no pods by itself.
    """
    # PostgreSQL refuses this character in any text.
    if "\0" in policy:
        raise NotFound("There is no policy of this name.")
    if number and not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise NotFound(f"{number!r} is not the number of a revision.")
    return deciding_only(revision_get(policy_get(policy), int(number) if number else None), path)


def revision_named(text: str, path: str = "") -> Revision:
    """Return the revision that ``text`` names as "policy" or "policy@number". Raises as ``revision_asked``."""
    policy, _, number = text.partition("@")
    return revision_asked(policy, number, path)


def profiles_asked(policy: str, number: str = "", path: str = "policy") -> Revision:
    """Return ``revision_asked``; raise Unprocessable at the field ``path`` for a classic policy."""
    return profiles_only(revision_asked(policy, number, path), path)


def profiles_named(text: str, path: str = "policy") -> Revision:
    """Return ``revision_named``; raise Unprocessable at the field ``path`` for a classic policy."""
    return profiles_only(revision_named(text, path), path)


def find_neighbours(snapshot: Snapshot, namespace: str, pod: str) -> tuple[PodRow | None, PodRow | None]:
    """Return the pending pods before and after this one in the order of the list; None at its ends."""
    pending = PodRow.objects.filter(snapshot=snapshot, pending=True).only("namespace", "name")
    before = pending.filter(Q(namespace__lt=namespace) | Q(namespace=namespace, name__lt=pod))
    after = pending.filter(Q(namespace__gt=namespace) | Q(namespace=namespace, name__gt=pod))
    return before.order_by("-namespace", "-name").first(), after.order_by("namespace", "name").first()


def revisions_to_compare(kinds: Iterable[str] | None = None) -> QuerySet[Revision]:
    """Return the newest revision of each policy of ``kinds``, by default of all that place pods, for a chooser."""
    listed = Revision.objects.filter(policy__kind__in=DECIDING if kinds is None else kinds)
    return listed.select_related("policy").defer("document").order_by("policy__name", "-number")[:200]


def policy_choices(kinds: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return the newest revisions, or those of ``kinds``, as choices of a form: (``name@revision``, label)."""
    return [
        (
            f"{revision.policy.name}@{revision.number}",
            gettext("%(policy)s, revision %(item)s") % {"policy": revision.policy.name, "item": revision.number},
        )
        for revision in revisions_to_compare(kinds)
    ]


def pod_names(snapshot: Snapshot, part: str) -> list[str]:
    """Return the first pods whose "namespace/name" contains ``part``, pending ones first."""
    rows = PodRow.objects.filter(snapshot=snapshot).annotate(key=Concat("namespace", Value("/"), "name"))
    return list(rows.filter(key__icontains=part).values_list("key", flat=True)[:50])


def pod_to_begin_with(snapshot: Snapshot) -> str:
    """Return a pod that can probably go to several nodes, "" if there are no pods.

    It is a bound pod that belongs to no DaemonSet, else any pod.
    """
    rows = PodRow.objects.filter(snapshot=snapshot, gated=False).only("namespace", "name")
    row = rows.filter(pending=False).exclude(node="").exclude(owner__startswith="DaemonSet/").first() or rows.first()
    return f"{row.namespace}/{row.name}" if row else ""


def classic_uses() -> dict[str, list[str]]:
    """Return the names of classic policies by each predicate and priority that their newest revision runs."""
    newest = Revision.objects.filter(policy__kind__in=CONVERTIBLE).annotate(last=Max("policy__revisions__number"))
    policies_by_rule: dict[str, list[str]] = {}
    for revision in newest.filter(number=F("last")).select_related("policy").order_by("policy__name"):
        runs = load_algorithm(revision)
        for name in dict.fromkeys(describe_rule(rule).name for rule in (*runs.predicates, *runs.priorities)):
            policies_by_rule.setdefault(name, []).append(revision.policy.name)
    return policies_by_rule
