"""The rail: which pages there are and which one is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.urls import NoReverseMatch, reverse

from kschedweb.accounts.roles import Action, may


@dataclass(frozen=True)
class Entry:
    """A page of the rail. It counts as open under the URL names of ``family``, and under those that begin with one of
    ``stems``: ``run`` stands for run, runs and run-pods.
    """

    label: str
    icon: str
    name: str
    family: frozenset[str]
    action: str = Action.VIEW
    stems: tuple[str, ...] = ()

    def holds(self, name: str) -> bool:
        stem = name.partition("-")[0].removesuffix("s")
        return name in self.family or stem in self.stems


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
        "classic",
        "classic-entry",
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
    Entry(
        "Playground",
        "flask-conical",
        "scenarios",
        frozenset(),
        stems=("scenario", "run", "comparison", "sweep", "capacity", "gate", "move", "experiment", "recording"),
    ),
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
        "live-rollout",
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
# The pages of the playground, as tabs of each of its lists; one whose app is not there is not shown.
PLAYGROUND = (
    Entry("Scenarios", "", "scenarios", frozenset(), stems=("scenario",)),
    Entry("Runs", "", "runs", frozenset(), stems=("run",)),
    Entry("Compare", "", "comparisons", frozenset(), stems=("comparison",)),
    Entry("Sweep", "", "sweeps", frozenset(), stems=("sweep",)),
    Entry("Capacity", "", "capacity-fit", frozenset(), stems=("capacity",)),
    Entry("Gate", "", "gate", frozenset(), stems=("gate",)),
    Entry("Moves", "", "moves", frozenset(), stems=("move",)),
    Entry("Experiments", "", "experiments", frozenset(), stems=("experiment",)),
    Entry("Recordings", "", "recordings", frozenset(), stems=("recording",)),
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
                "open": entry.holds(current),
            }
        )
    return shown
