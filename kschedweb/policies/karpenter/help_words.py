"""The help on the fields of NodePools, for the catalogues."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

WORDS = (
    _("How many may go at once: 10, or 10%%."),
    _("When it holds, as a cron expression in UTC; with duration."),
    _("How long it holds from then on, such as 8h."),
    _("NodePools with more weight are tried first."),
    _("What all its nodes together may have, such as cpu: 100. Empty: no limit."),
    _("When its nodes may go."),
    _(
        "WhenEmpty: nodes without pods. WhenEmptyOrUnderutilized: those too whose pods fit elsewhere, or on a "
        "cheaper node. Balanced: if what is saved is worth the disruption."
    ),
    _("How long no pod came to a node or left it before it may go: 30s, 5m, or Never."),
    _("How many nodes may go at once."),
    _(
        "Which nodes it may launch: a list of key, operator and values, and perhaps minValues. For spot nodes: - "
        "{key: karpenter.sh/capacity-type, operator: In, values: [spot]}."
    ),
)
