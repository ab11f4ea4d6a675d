"""The page of a node as plain data: a bar for each resource, a row for each pod, groups of pending pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.text import capfirst
from django.utils.translation import gettext

from kschedweb.clusters.redaction import UNNAMED
from kschedweb.decisions.nodes.titles import amount_of, resource_words
from kschedweb.engine.studies.capacity.drain import (
    BUDGET,
    DAEMON_SET,
    LOCAL,
    MIRRORED,
    NO_ROOM,
    TERMINATING,
    UNMANAGED,
)
from kschedweb.engine.studies.capacity.node_report import FOREIGN, PlaceVerdict
from kschedweb.web.units import format_amount, format_cpu

if TYPE_CHECKING:
    from kschedweb.engine.studies.capacity.node_report import NodeReport, PodPlace, ResidentPod, ResourceLevel

# Blocks narrower than this share of the bar have no room for a name, in percent.
NAMED = 9.0
# Resources that are not shown while nobody requests any.
QUIET = frozenset({"ephemeral-storage"})
# Colours of blocks.
LEAVES, STAYS, UNKNOWN = "leaves", "stays", "unknown"


@dataclass(frozen=True)
class Block:
    """A pod in a bar. Lengths are percents of the bar, as text."""

    # The position of the pod's row, from 1.
    row: int
    label: str
    title: str
    left: str
    width: str
    colour: str
    has_name: bool


@dataclass(frozen=True)
class Bar:
    """One resource of the node."""

    resource: str
    label: str
    requested: str
    free: str
    allocatable: str
    # Really used, with its unit; "" if unknown.
    used: str
    # The place of the mark for it, in percent as text.
    used_at: str
    # The end of the node's own amount, in percent as text; "100" unless more is requested than there is.
    limit_at: str
    overcommitted: bool
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class PodLine:
    """One pod of the node."""

    key: str
    pod: ResidentPod
    # What it takes of CPU, memory and other resources, in words.
    requests: str
    # Why it is here, and whether it could leave; "" if that was not worked out.
    why: str = ""
    # The scheduler's own words.
    quote: str = ""
    leave: str = ""
    leave_quote: str = ""
    # The node that it would go to.
    target: str = ""
    colour: str = UNKNOWN

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def is_visible(self) -> bool:
        return self.key != UNNAMED


def build_lines(report: NodeReport) -> list[PodLine]:
    """Return the pods of the node, in the report's order."""
    return [build_line(pod, pod.place) for pod in report.pods]


def build_line(pod: ResidentPod, place: PodPlace | None) -> PodLine:
    """Return the row of a pod; without ``place`` it says only what the pod takes."""
    requests = ", ".join(amount_of(amount, name) for name, amount in sorted(pod.requests.items()) if amount)
    if place is None:
        return PodLine(pod.pod, pod, requests)
    return PodLine(
        pod.pod,
        pod,
        requests,
        explain_place(place),
        place.message,
        explain_exit(place),
        place.obstacle_message if place.obstacle not in (UNMANAGED, LOCAL, FOREIGN) else "",
        place.target,
        LEAVES if place.can_leave else STAYS,
    )


def build_bars(report: NodeReport, lines: list[PodLine]) -> list[Bar]:
    """Return the bars of the resources, with the pods in the colours of their rows."""
    rows = {line.key: (place, line) for place, line in enumerate(lines, 1)}
    return [_build_bar(level, rows) for level in report.resources if level.requested or level.resource not in QUIET]


def explain_place(place: PodPlace) -> str:
    """Return in one sentence why the pod is on its node, as the policy sees it now."""
    texts = {
        PlaceVerdict.BEST: gettext(
            "Best of %(feasible)s nodes: %(score)s, %(margin)s ahead of %(rival)s; %(plugin)s decided"
        ),
        PlaceVerdict.TIED: gettext("Best of %(feasible)s nodes: %(score)s, tied with %(rival)s"),
        PlaceVerdict.ONLY: gettext("The only node that passes every filter"),
        PlaceVerdict.BEATEN: gettext("Now %(rival)s scores %(margin)s more than its %(score)s; %(plugin)s decides"),
        PlaceVerdict.REFUSED: gettext("%(plugin)s would refuse this node now"),
        PlaceVerdict.STATIC: gettext("Static pod: the kubelet runs it, no scheduler placed it"),
        PlaceVerdict.FOREIGN: gettext("Placed by a scheduler that this policy does not describe"),
        PlaceVerdict.FAILED: gettext("It cannot be scheduled now"),
    }
    return texts[place.verdict] % {
        "feasible": f"{place.feasible:,}",
        "score": "" if place.score is None else f"{place.score:,}",
        "margin": "" if place.margin is None else f"{abs(place.margin):,}",
        "rival": place.rival,
        "plugin": place.plugin or gettext("The order of the nodes"),
    }


def explain_exit(place: PodPlace) -> str:
    """Return in one sentence whether the pod could leave; ``place.target`` says where to."""
    if place.can_leave:
        return gettext("Yes, to")
    texts = {
        DAEMON_SET: gettext("No: its DaemonSet belongs on each node"),
        MIRRORED: gettext("No: static pod"),
        TERMINATING: gettext("It is leaving already"),
        UNMANAGED: gettext("Only for good: no controller would replace it"),
        LOCAL: gettext("Only if its local data may be lost; then to"),
        BUDGET: gettext("Not now: its disruption budget is used up; later to"),
        NO_ROOM: gettext("No: it fits nowhere else"),
        FOREIGN: gettext("Unknown: another scheduler decides"),
    }
    return texts[place.obstacle]


def _build_bar(level: ResourceLevel, rows: dict[str, tuple[int, PodLine]]) -> Bar:
    # More may be requested than there is: the bar then ends where the requests do.
    whole = max(level.allocatable, level.requested, 1)
    blocks, left = [], 0
    for share in level.pods:
        row, line = rows.get(share.pod, (0, None))
        width = 100 * share.amount / whole
        name = share.pod.rpartition("/")[2]
        title = f"{share.pod}: {amount_of(share.amount, level.resource)}"
        colour = UNKNOWN if line is None else line.colour
        blocks.append(Block(row, name, title, f"{100 * left / whole:.3f}", f"{width:.3f}", colour, width >= NAMED))
        left += share.amount
    used = level.used_percent
    return Bar(
        level.resource,
        level.resource if "/" in level.resource else capfirst(resource_words(level.resource)),
        format_cpu(level.requested) if level.resource == "cpu" else format_amount(level.requested, level.resource),
        format_amount(abs(level.free), level.resource),
        format_amount(level.allocatable, level.resource),
        "" if used is None else f"{used:.0f} %",
        "" if used is None else f"{min(used, 100.0) * level.allocatable / whole:.2f}",
        f"{100 * level.allocatable / whole:.2f}",
        level.free < 0,
        tuple(blocks),
    )
