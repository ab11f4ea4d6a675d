"""The help on the fields of NodePools, for the catalogues."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

WORDS = (
    _("How many may be removed at once: 10, or 10%%."),
    _("When it applies, as a cron expression in UTC; with duration."),
    _("How long it applies from then on, such as 8h."),
    _("NodePools with more weight are tried first."),
    _("Limit for all its nodes together, such as cpu: 100. Leave empty for none."),
    _("When its nodes may be removed."),
    _(
        "WhenEmpty: nodes without pods. WhenEmptyOrUnderutilized: also nodes whose pods fit elsewhere or on a "
        "cheaper node. Balanced: if the saving is worth the disruption."
    ),
    _("How long a node must be unchanged before it may be removed: 30s, 5m, or Never."),
    _("How many nodes may be removed at once."),
    _(
        "Which nodes it may launch: a list of key, operator and values, and perhaps minValues. For spot nodes: - "
        "{key: karpenter.sh/capacity-type, operator: In, values: [spot]}."
    ),
)
