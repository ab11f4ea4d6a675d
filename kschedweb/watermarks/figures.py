"""The collected figures: kind of object, resource and statistic.

A *figure* is named ``kind/resource/statistic``, such as ``node/cpu/15m`` or ``workload/memory/1d``. Statistics are
averages over a window (``5m``, ``10m``, ``15m``, ``1h``, ``1d``), the standard deviation over 15 minutes (``15m_std``),
maxima of the 5-minute average (``1h_max``, ``1d_max``), and ``now``: the value of metrics.k8s.io at one moment, from
which kschedweb computes the windows itself.

Of containers only the current use is queried (``container/cpu/now``); ``container_book.py`` records it.

Stored units: nodes in percent (0-100) of allocatable; workloads in cores and bytes, the mean of a workload's pods.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from kschedweb.web.translating import gettext_lazy as _

NODE, WORKLOAD, CONTAINER = "node", "workload", "container"
KINDS = (NODE, WORKLOAD)
RESOURCES = ("cpu", "memory")
NOW = "now"

# Seconds of each window.
AVERAGES = {"5m": 300, "10m": 600, "15m": 900, "1h": 3600, "1d": 86_400}
MAXIMA = {"1h_max": 3600, "1d_max": 86_400}
DEVIATIONS = {"15m_std": 900}
NODE_STATISTICS = ("5m", "15m", "1h", "1d", "15m_std", "1h_max", "1d_max")
WORKLOAD_STATISTICS = ("15m", "1h", "1d")
STATISTICS = {NODE: NODE_STATISTICS, WORKLOAD: WORKLOAD_STATISTICS, CONTAINER: (NOW,)}
# Of a workload's container: the most that one of its pods used.
PEAK = "peak"

WORDS = {
    "now": _("at the moment"),
    "5m": _("average of 5 minutes"),
    "10m": _("average of 10 minutes"),
    "15m": _("average of 15 minutes"),
    "1h": _("average of 1 hour"),
    "1d": _("average of 1 day"),
    "15m_std": _("standard deviation over 15 minutes"),
    "1h_max": _("highest 5-minute average of 1 hour"),
    "1d_max": _("highest 5-minute average of 1 day"),
}
KIND_WORDS = {NODE: _("Node"), WORKLOAD: _("Workload"), CONTAINER: _("Container")}
RESOURCE_WORDS = {"cpu": "CPU", "memory": _("memory")}


@dataclass(frozen=True, order=True)
class Figure:
    """A figure of all nodes or of all workloads."""

    kind: str
    resource: str
    statistic: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.resource}/{self.statistic}"

    @property
    def label(self) -> str:
        """The figure in words, such as "Node CPU, average of 15 minutes"."""
        words = {"kind": KIND_WORDS[self.kind], "resource": RESOURCE_WORDS[self.resource]}
        return gettext("%(kind)s %(resource)s, %(statistic)s") % {**words, "statistic": WORDS[self.statistic]}

    @property
    def field(self) -> str:
        """The name of the form field."""
        return str(self).replace("/", "_")

    @property
    def is_maximum(self) -> bool:
        return self.statistic in MAXIMA


# The figures to query, in the order of forms and answers.
FIGURES: tuple[Figure, ...] = tuple(
    Figure(kind, resource, statistic) for kind in STATISTICS for resource in RESOURCES for statistic in STATISTICS[kind]
)
BY_NAME = {str(figure): figure for figure in FIGURES}
