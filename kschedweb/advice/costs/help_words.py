"""The engine's words about the fields of a price table, for the message catalogues."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

WORDS = (
    _("The currency to show, such as EUR."), _("A note shown beside amounts, such as the source of the prices."),
    _("A fee an hour for each node, which no commitment lowers."),
    _("The first matching entry sets a node's price."), _("Price of one node an hour."),
    _("Discounts; a node has at most one, of the first commitment that covers it."),
    _("How many nodes at once."), _("Percent of the price."), _("Labels that the nodes have, all of them."),
    _("How a node's price is divided between CPU and memory to tell what pods cost; equally if absent."),
    _("Weight of CPU."), _("Weight of memory."), _("The nodes' label node.kubernetes.io/instance-type."),
    _("The nodes' label karpenter.sh/capacity-type; for other labels use labels."),
)  # fmt: skip
