"""The rail: its entries, their tabs and the views of these, each page once."""

from __future__ import annotations

from kschedweb.accounts.roles import Action
from kschedweb.web.navigation import Entry, RailGroup, declare_entries
from kschedweb.web.translating import gettext_lazy as _

LIVE = frozenset(
    f"live-{page}" for page in ("new", "scheduler", "change", "mode", "rollout", "delete", "setup", "decision", "pod")
)
JOBS_BADGE = "jobs/badge.html"


def declare_rail() -> None:
    declare_entries(RailGroup.SEE, *list_cluster_entries())
    declare_entries(RailGroup.TRY, *list_trial_entries())
    declare_entries(RailGroup.IMPROVE, *list_improvement_entries())
    declare_entries(RailGroup.RUN, *list_production_entries())
    declare_entries(RailGroup.SETTINGS, make_settings_entry())
    declare_entries(
        RailGroup.ACCOUNT,
        Entry(_("Preferences"), "settings", "user", family=frozenset({"views"})),
        Entry(_("REST reference"), "api:schema-page", "file-text"),
    )


def list_cluster_entries() -> tuple[Entry, ...]:
    """Return the entries that show a cluster as it is."""
    return (
        Entry(
            _("Overview"),
            "overview",
            "layout-dashboard",
            family=frozenset({"fleet", "fleet-node", "sandbox"}),
            details=frozenset({"overview-reasons", "fleet-search"}),
            stems=("sandbox",),
        ),
        Entry(
            _("Pods"),
            icon="package",
            details=frozenset(
                {
                    *("decision", "decision-answer", "pod-group", "pod-history"),
                    *("queue", "queue-admission", "queue-of-pod", "queue-workload"),
                }
            ),
            tabs=(
                Entry(_("Pending"), "pods", parameter=("pending", "true")),
                Entry(_("All"), "pods"),
                Entry(_("Explain together"), "decisions-together", is_in_cluster=True),
                Entry(_("Groups"), "pod-groups", is_in_cluster=True),
                Entry(_("Queues"), "queues"),
            ),
        ),
        Entry(
            _("Nodes"),
            icon="server",
            details=frozenset({"node"}),
            tabs=(
                Entry(_("Map"), "nodes"),
                Entry(
                    _("Use over time"),
                    tabs=(
                        Entry(_("Skew"), "usage"),
                        Entry(_("Heatmap"), "usage-heatmap"),
                        Entry(_("Distribution"), "usage-distribution"),
                    ),
                ),
                Entry(
                    _("Requests against use"),
                    tabs=(Entry(_("Nodes"), "usage-nodes"), Entry(_("Workloads"), "usage-workloads")),
                ),
            ),
        ),
    )


def list_trial_entries() -> tuple[Entry, ...]:
    """Return the entries that try something without touching a cluster."""
    return (
        Entry(
            _("Try a change"),
            icon="arrow-right-left",
            details=frozenset({"fleet-trial"}),
            tabs=(
                Entry(
                    _("Policy"),
                    tabs=(
                        Entry(_("One cluster"), "trying", family=frozenset({"tried"}), action=Action.EDIT),
                        Entry(_("Many clusters"), "fleet-trials"),
                    ),
                ),
                Entry(_("Upgrade"), "releases"),
                Entry(_("Lose or add nodes"), "capacity-change"),
                Entry(
                    _("Old policy files"),
                    details=frozenset({"classic-entry"}),
                    tabs=(
                        Entry(_("Pods that would move"), "migration", family=frozenset({"migration-answer"})),
                        Entry(_("Predicates and priorities"), "classic"),
                    ),
                ),
            ),
        ),
        Entry(
            _("Simulations"),
            icon="flask-conical",
            details=frozenset({"experiment", "experiment-new"}),
            stems=("scenario", "run", "comparison", "recording"),
            tabs=(
                Entry(_("Scenarios"), "scenarios"),
                Entry(_("Runs"), "runs"),
                Entry(_("Comparisons"), "comparisons"),
                Entry(_("Experiments"), "comparisons", parameter=("kind", "experiment")),
                Entry(_("Recordings"), "recordings"),
            ),
        ),
        Entry(_("Tune weights"), "sweeps", "sliders-horizontal", stems=("sweep",)),
    )


def list_improvement_entries() -> tuple[Entry, ...]:
    """Return the entries that say how a cluster could do better."""
    return (
        Entry(
            _("Capacity"),
            icon="gauge",
            family=frozenset({"capacity-answer"}),
            tabs=(
                Entry(_("Room for more"), tabs=(Entry(_("Pods"), "capacity-fit"), Entry(_("Gangs"), "capacity-gangs"))),
                Entry(_("Nodes needed"), "capacity-nodes"),
                Entry(_("Lose a zone"), "capacity-buffer"),
                Entry(_("Drain"), "capacity-drain"),
                Entry(
                    _("Autoscaler"),
                    tabs=(
                        Entry(
                            "Karpenter", "autoscaling", family=frozenset({"autoscaling-answer", "autoscaling-change"})
                        ),
                        Entry(_("Cluster Autoscaler"), "autoscaling-groups"),
                    ),
                ),
            ),
        ),
        Entry(
            _("Savings"),
            icon="scale",
            details=frozenset({"right-sizing-workload", "right-sizing-apply"}),
            tabs=(
                Entry(_("Cost"), tabs=(Entry(_("Costs"), "costs"), Entry(_("Prices"), "costs-prices"))),
                Entry(_("Right-size"), "right-sizing"),
                Entry(_("Free up nodes"), "plans", family=frozenset({"plans-answer"})),
                Entry(_("Descheduler"), "descheduling", family=frozenset({"descheduling-answer"})),
            ),
        ),
    )


def list_production_entries() -> tuple[Entry, ...]:
    """Return the entries of policies at work."""
    return (
        Entry(
            _("Policies"),
            icon="scroll-text",
            details=frozenset({"repository", "repository-delete", "gate-verdict"}),
            stems=("policy",),
            tabs=(
                Entry(_("Policies"), "policies"),
                Entry(_("Load curves"), "load-aware"),
                Entry(_("From git"), "repositories"),
                Entry(_("CI check"), "gate"),
            ),
        ),
        Entry(
            _("Schedulers"),
            icon="radio",
            details=LIVE | {"live-shadow", "live-extender", "live-extender-secret"},
            tabs=(
                Entry(_("Live"), "live"),
                Entry(_("Shadow"), "shadows"),
                Entry(_("Extender"), "extenders"),
            ),
        ),
        Entry(
            _("Approvals"),
            icon="user-check",
            badge="live/approvals/badge.html",
            details=frozenset({"approval", "webhook", "webhook-new", "webhook-delete"}),
            tabs=(
                Entry(_("Waiting"), "approvals"),
                Entry(_("History"), "approvals-history"),
                Entry(_("Webhooks"), "webhooks"),
            ),
        ),
    )


def make_settings_entry() -> Entry:
    """Return the gear, which holds the settings of the site."""
    clusters = (
        Entry(_("Clusters"), "clusters"),
        Entry(_("Data source"), "usage-source", family=frozenset({"usage-source-change"})),
        Entry(_("Annotations"), "usage-annotations", family=frozenset({"usage-annotations-change"})),
    )
    people = (
        Entry(_("People"), "people", action=Action.ADMINISTER),
        Entry(_("Grants"), "grants", action=Action.ADMINISTER),
        Entry(_("Tokens"), "tokens"),
    )
    return Entry(
        _("Settings"),
        icon="settings",
        badge=JOBS_BADGE,
        details=frozenset({"person-tokens", "job"}),
        stems=("cluster",),
        tabs=(
            Entry(_("Clusters"), tabs=clusters),
            Entry(_("People and access"), tabs=people),
            Entry(_("Audit"), "audit", action=Action.ADMINISTER),
            Entry(_("Jobs"), "jobs", badge=JOBS_BADGE),
        ),
    )
