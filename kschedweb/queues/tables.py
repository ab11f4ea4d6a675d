"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    RowTable(
        "flavor-attempts",
        _("Flavors"),
        (
            Column("pod_set", _("Pod set"), cell_css="name"),
            Column("flavor", _("Flavor"), value="1.flavor"),
            Column("verdict", _("Verdict")),
            Column("why", _("Why"), cell_css="message"),
        ),
        marks={"data-flavor": "1.flavor", "data-mode": "1.mode"},
    ),
    RowTable(
        "quota-steps",
        _("Up the tree"),
        (
            Column("node", _("Node"), cell_css="name"),
            Column("subtree", _("Quota with that below"), "number", form="quota:limit.resource"),
            Column("used", _("Used"), "number", form="quota:limit.resource"),
            Column("borrowing_room", _("Borrowing limit leaves"), "number", form="quota:limit.resource"),
            Column("available", _("Free for it"), "number", form="quota:limit.resource"),
        ),
    ),
    RowTable(
        "workload-history",
        _("What happened to it"),
        (
            Column("at", _("When"), cell_css="name"),
            Column("sentence", _("What")),
            Column("message", _("Why"), cell_css="message"),
        ),
        marks={"data-step": "step"},
    ),
    RowTable(
        "queue-waiting",
        _("Waiting"),
        (
            Column("position", _("Place"), "number"),
            Column("workload", _("Workload"), cell_css="name"),
            Column("priority", _("Priority"), "number"),
            Column("waited_seconds", _("Waits for"), "number", form="rough_duration"),
            Column("pods", _("Pods"), "number"),
            Column("asks", _("Asks for")),
            Column("message", _("Kueue's last word"), cell_css="message"),
        ),
        marks={"data-workload": "workload"},
        names="workload",
    ),
    RowTable(
        "queue-holders",
        _("Quota is held by"),
        (
            Column("workload", _("Workload"), cell_css="name"),
            Column("queue", _("Queue"), when="in_tree"),
            Column("usage", _("Has")),
            Column("priority", _("Priority"), "number"),
            Column("since", _("Since"), "number", value="held_seconds", form="rough_duration"),
            Column("verdict", _("Verdict"), cell_css="message", when="judged"),
        ),
        marks={"data-workload": "workload", "data-verdict": "verdict"},
    ),
)
