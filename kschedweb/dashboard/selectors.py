"""What the frame's pages read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import NoReverseMatch, reverse

from kschedweb.clusters.models import NodeRow, PodRow
from kschedweb.dashboard import navigation

if TYPE_CHECKING:
    from kschedweb.dashboard.scope import Scope

Result = dict[str, str]
PER_GROUP = 8


def search(scope: Scope, words: str, role: str) -> list[tuple[str, list[Result]]]:
    """Pages, clusters, policies, pods and nodes of the chosen cluster whose name holds ``words``, in groups."""
    low = words.lower()
    pages = navigation.entries(navigation.MAIN + navigation.ACCOUNT, role, "", scope.query)
    groups = [
        (
            "Pages",
            [
                _result(page["label"], page["address"], page["icon"])
                for page in pages
                if low in str(page["label"]).lower()
            ],
        ),
        ("Clusters", [_link(item.name, "boxes", "cluster", item.name) for item in scope.clusters if low in item.name]),
        (
            "Policies",
            [
                _link(item.name, "sliders-horizontal", "policy", item.name)
                for item in scope.policies
                if low in item.name
            ],
        ),
    ]
    if scope.snapshot is not None and scope.cluster is not None and words:
        cluster = scope.cluster.name
        namespace, _, name = words.rpartition("/")
        pods = PodRow.objects.filter(snapshot=scope.snapshot, name__icontains=name, namespace__startswith=namespace)
        found = pods.values_list("namespace", "name", "pending")[:PER_GROUP]
        groups.append(
            (
                "Pods",
                [
                    _link(f"{ns}/{pod}", "package", "decision", cluster, ns, pod, note="pending" if waits else "")
                    for ns, pod, waits in found
                ],
            )
        )
        nodes = NodeRow.objects.filter(snapshot=scope.snapshot, name__icontains=words)
        names = nodes.values_list("name", flat=True)[:PER_GROUP]
        groups.append(
            (
                "Nodes",
                [_result(node, f"{reverse('nodes')}?cluster={cluster}&search={node}", "server") for node in names],
            )
        )
    return [(title, items[:PER_GROUP]) for title, items in groups if items]


def _link(label: str, icon: str, name: str, *args: str, note: str = "") -> Result:
    try:
        return _result(label, reverse(name, args=args), icon, note)
    except NoReverseMatch:
        return _result(label, "#", icon, note)


def _result(label: object, address: object, icon: object, note: str = "") -> Result:
    return {"label": str(label), "address": str(address), "icon": str(icon), "note": note}
