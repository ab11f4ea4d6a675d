"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.engine.releases.classic.catalogue import V1_9, V1_13
from kschedweb.web.tables import Column, RowTable, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

# Groups of pods that have a node, or get one.
_PLACED = "group.kind == 'fits' or group.kind == 'moves' or group.kind == 'stays'"
# When a rule runs, and under how many of the site's policies.
_RUNS = (
    Column("runs-1-13", _("Runs in 1.13"), value=lambda entry: entry.runs[V1_13]),
    Column("runs-1-9", _("In 1.9"), value=lambda entry: entry.runs[V1_9]),
    Column("policies", _("Policies"), "number", form="length"),
)

register_tables(
    Table(
        "pod-groups",
        _("Groups of pods"),
        (
            Column("group", _("Group"), cell_css="name"),
            Column("namespace", _("Namespace")),
            Column("state", _("State"), cell_css="message"),
            Column("least", "minCount", "number", value="min_count"),
            Column("topology", _("In one domain of"), cell_css="break", verbatim=True),
            Column("priority", _("Priority"), "number"),
        ),
        marks={"data-group": lambda group: f"{group['namespace']}/{group['name']}", "data-state": "state"},
    ),
    RowTable(
        "classic-predicates",
        _("Predicates"),
        (
            Column("name", _("Predicate")),
            Column("place", _("Place"), "number", value=lambda entry: entry.place or None),
            Column("rejects", _("Rejects"), value="rule.plain_text", form="translated_help"),
            *_RUNS,
        ),
        css="",
    ),
    RowTable(
        "classic-priorities",
        _("Priorities"),
        (
            Column("name", _("Priority function")),
            Column("prefers", _("Prefers, by the formula")),
            Column(
                "weight",
                _("Default weight"),
                "number",
                value=lambda entry: entry.weight or None,
                form='amount:"weight"',
            ),
            *_RUNS,
        ),
        css="",
    ),
    RowTable(
        "group-domains",
        _("Domains"),
        (
            Column("name", _("Domain"), cell_css="name"),
            Column("nodes", _("Nodes"), "number"),
            Column("placed", _("Pods with a node"), "number"),
            Column("score", _("Score"), "number", when="group_page.scored"),
            Column("message", _("First pod without a node"), cell_css="message"),
        ),
        marks={"data-domain": "name", "class": lambda domain: "chosen" if domain.taken else None},
    ),
    RowTable(
        "group-victims",
        _("Pods to be preempted"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("node", _("Node")),
            Column("group", _("Group")),
            Column("priority", _("Priority"), "number"),
        ),
    ),
    RowTable(
        "group-pods",
        _("Pods of the group"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("node", _("Node")),
            Column("message", _("What the scheduler says"), cell_css="message"),
        ),
        marks={"data-pod": "name", "data-state": "state"},
    ),
    RowTable(
        "rejected-nodes",
        _("Rejected nodes by verdict"),
        (
            Column("count", _("Nodes"), cell_css="nowrap"),
            Column("plugin", _("Rejected by")),
            Column("verdict", _("Verdict"), cell_css="message"),
            Column("names", _("Why not on"), cell_css="message"),
        ),
        marks={"data-group": "key"},
        grid=True,
    ),
    RowTable(
        "compared-winners",
        _("The winners under both policies"),
        (
            Column("node", _("Winner")),
            Column("chosen", _("Chosen by")),
            Column("place", _("Under the policy"), value="place.words", absent=_("rejected")),
            Column("there", _("Under the other policy"), value="there.words", absent=_("rejected")),
        ),
    ),
    RowTable(
        "together-pods",
        _("Pods"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("node", _("Node now"), when="group.kind != 'fits'"),
            Column(
                "message",
                _("What the scheduler says"),
                cell_css="message",
                when="group.kind == 'stuck' or group.kind == 'waiting'",
            ),
            Column("target", _("Would go to"), when=_PLACED),
            Column("feasible", _("Feasible nodes"), "number", value="outcome.feasible", form="grouped", when=_PLACED),
        ),
        css="",
    ),
)
