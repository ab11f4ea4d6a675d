"""The rail: which pages there are and which one is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse

from kschedweb.accounts.roles import Action, may


@dataclass(frozen=True)
class Entry:
    """A page of the rail. ``family`` holds the URL names under which it counts as open."""

    label: str
    icon: str
    name: str
    family: frozenset[str]
    action: str = Action.VIEW


def _entry(label: str, icon: str, name: str, *more: str, action: str = Action.VIEW) -> Entry:
    return Entry(label, icon, name, frozenset({name, *more}), action)


MAIN = (
    _entry("Overview", "layout-dashboard", "overview"),
    _entry("Clusters", "boxes", "clusters", "cluster", "cluster-connect", "cluster-import"),
    _entry("Nodes", "server", "nodes"),
    _entry("Pods", "package", "pods", "decision"),
    _entry(
        "Policies",
        "sliders-horizontal",
        "policies",
        "policy",
        "policy-new",
        "policy-revisions",
        "policy-diff",
        "policy-effective",
    ),
    _entry(
        "Watermarks",
        "activity",
        "watermarks",
        "watermark-heatmap",
        "watermark-distribution",
        "watermark-nodes",
        "watermark-workloads",
        "watermark-policies",
        "watermark-source",
        "annotations",
    ),
    _entry("Capacity", "gauge", "capacity-fit", "capacity-nodes", "capacity-drain"),
    _entry("Experiments", "git-compare", "experiments", "experiment", "experiment-new"),
    _entry(
        "Approvals",
        "user-check",
        "approvals",
        "approval",
        "approvals-history",
        "webhooks",
        "webhook-new",
        "webhook",
        "webhook-delete",
    ),
    _entry(
        "Live",
        "radio",
        "live",
        "live-new",
        "live-scheduler",
        "live-change",
        "live-mode",
        "live-delete",
        "live-setup",
        "live-decision",
        "live-pod",
        "live-shadow",
        "live-extender",
        "live-extender-secret",
    ),
    _entry("Jobs", "list-checks", "jobs", "job"),
)
ACCOUNT = (
    _entry("Settings", "settings", "settings"),
    _entry("Tokens", "key-round", "tokens"),
    _entry("People", "users", "people", action=Action.ADMINISTER),
    _entry("Audit", "scroll-text", "audit", action=Action.ADMINISTER),
)
# Pages that are about one cluster: they keep the chosen one in their address.
SCOPED = frozenset(
    {
        "overview", "nodes", "pods", "watermarks", "watermark-heatmap", "watermark-distribution", "watermark-nodes",
        "watermark-workloads", "watermark-policies",
        "capacity-fit", "capacity-nodes", "capacity-drain",
    }
)  # fmt: skip


def entries(items: tuple[Entry, ...], role: str, current: str, query: str) -> list[dict[str, Any]]:
    """The entries a person of ``role`` may open, with their addresses."""
    shown = []
    for entry in items:
        if not may(role, entry.action):
            continue
        try:
            address = reverse(entry.name)
        except NoReverseMatch:
            continue
        if entry.name in SCOPED:
            address += query
        shown.append(
            {
                "label": entry.label,
                "icon": entry.icon,
                "name": entry.name,
                "address": address,
                "open": current in entry.family,
            }
        )
    return shown
