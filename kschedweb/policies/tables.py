"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.policies.filters import PolicyFilter
from kschedweb.web.messages import translate_words
from kschedweb.web.tables import Column, RowTable, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

_CHANGED = {"class": lambda rule: None if rule.is_default else "is-changed"}
register_tables(
    Table(
        "policies",
        _("Policies"),
        (
            Column("name", _("Policy"), cell_css="name"),
            Column("kind", _("Kind"), verbatim=True),
            Column("description", _("Description"), form="translated", absent="", cell_css="message"),
            Column("revision", _("Revision"), "number"),
            Column("changed", _("Changed"), value="changed_at", form="age"),
            Column("by", _("By"), value="changed_by", absent=_("system")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="policies",
        filters=PolicyFilter,
    ),
    RowTable(
        "crane-metrics",
        _("Metrics"),
        (
            Column("name", _("Metric"), cell_css="name"),
            Column("valid", _("A value is valid for")),
            Column("limit", _("Nodes are rejected above"), "number"),
            Column("weight", _("Weight"), "number"),
            Column("share", _("Share of the score"), "number"),
        ),
    ),
    RowTable(
        "effective-predicates",
        _("Predicates in their order"),
        (
            Column("name", _("Predicate")),
            Column("order", _("Order"), "number"),
            Column("argument", _("Argument")),
        ),
        marks=_CHANGED,
    ),
    RowTable(
        "effective-priorities",
        _("Priorities with their weights"),
        (
            Column("name", _("Priority function")),
            Column("weight", _("Weight"), "number"),
            Column("argument", _("Argument")),
        ),
        marks=_CHANGED,
    ),
    RowTable(
        "conversion-notes",
        _("Rule by rule"),
        (
            Column("rule", _("Rule")),
            Column("counterpart", _("Counterpart")),
            Column("plugins", _("Plugins"), form='join:", "'),
            Column("text", _("What differs")),
        ),
    ),
    RowTable(
        "pool-launches",
        _("NodePools"),
        (
            Column("name", "NodePool", cell_css="name"),
            Column("weight", _("Weight"), "number"),
            Column("types", _("Instance types"), "number", form="length"),
            Column("why", _("Which it may launch")),
        ),
    ),
    RowTable(
        "revision-changes",
        _("What changes"),
        (
            Column("subject", _("What"), form="breakable", verbatim=True),
            Column("location", _("Where"), absent=_("all profiles")),
            Column("before", _("Before"), absent=_("absent")),
            Column("after", _("After"), absent=_("absent")),
        ),
    ),
    RowTable(
        "descheduler-plugins",
        _("Plugins that run"),
        (
            Column("plugin", _("Plugin"), cell_css="name"),
            Column("profile", _("Profile")),
            Column("point", _("Runs at"), absent=_("each eviction")),
            Column("arguments", _("Arguments")),
        ),
    ),
    RowTable(
        "effect-pods",
        _("Pods that would change node"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("before", _("Before"), absent=_("no node")),
            Column("after", _("After")),
            Column("why", _("Why")),
        ),
    ),
    RowTable(
        "setting-changes",
        _("What changes"),
        (
            Column("subject", _("Setting")),
            Column("location", _("Where")),
            Column("before", _("Before"), absent=_("absent")),
            Column("after", _("After"), absent=_("absent")),
        ),
    ),
    RowTable(
        "compared-settings",
        _("Both profiles"),
        (
            Column("where", _("Setting")),
            Column("first", _("Before")),
            Column("second", _("After")),
        ),
        marks={"class": lambda line: None if line.is_same else "is-changed"},
    ),
    RowTable(
        "revisions",
        _("Revisions"),
        (
            Column("number", _("Revision"), "number"),
            Column("from", _("From")),
            Column("to", _("To")),
            Column("saved", _("Saved"), value="created_at", form="age"),
            Column("by", _("By")),
            Column("comment", _("Comment"), cell_css="message", form=translate_words),
            Column("actions", _("Actions"), spoken=True),
        ),
        css="",
    ),
)
