"""The sentences about a node: how full it is, and with what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.words import resource_suffix
from kschedweb.engine.studies.capacity.node_report import PODS
from kschedweb.web.units import format_amount, format_count

if TYPE_CHECKING:
    from kschedweb.engine.studies.capacity.node_report import NodeReport

# From this share on a node counts as full, in percent.
FULL = 90.0
# A pod or workload with this share of a node is named, in percent.
LARGE = 20.0


def amount_of(value: int, resource: str) -> str:
    """Return an amount with the name of its resource: "2 CPU", "3Gi memory", "1 nvidia.com/gpu"."""
    if resource == PODS:
        return format_count(value, "pods")
    return format_amount(value, resource) + resource_suffix(resource)


def report_title(report: NodeReport) -> str:
    """Return the answer in at most twelve words: the fullest resource, and what is left of it."""
    level = report.fullest
    parameters = {
        "node": report.name,
        "free": amount_of(abs(level.free), level.resource),
        "all": format_amount(level.allocatable, level.resource),
        "percent": f"{level.requested_percent:.0f}",
        "resource": resource_words(level.resource),
    }
    if level.free < 0:
        return gettext("%(node)s is overcommitted: pods request %(free)s too much") % parameters
    if level.requested_percent >= FULL:
        return gettext("%(node)s is full: %(free)s left of %(all)s") % parameters
    return gettext("%(node)s has room: %(percent)s %% of its %(resource)s is requested") % parameters


def report_cause(report: NodeReport) -> str:
    """Return which workloads take most of the fullest resource; "" if none takes much."""
    level = report.fullest
    if not level.requested:
        return ""
    owner_by_pod = {pod.pod: pod.controller for pod in report.pods}
    amounts: dict[str, int] = {}
    pods: dict[str, int] = {}
    for share in level.pods:
        owner = owner_by_pod.get(share.pod) or share.pod
        amounts[owner] = amounts.get(owner, 0) + share.amount
        pods[owner] = pods.get(owner, 0) + 1
    owner, amount = max(amounts.items(), key=lambda item: item[1])
    percent = 100 * amount / level.allocatable if level.allocatable else 0.0
    if percent < LARGE:
        return gettext("No workload requests more than %(percent)s %% of it.") % {"percent": f"{LARGE:.0f}"}
    return gettext("%(pods)s of %(owner)s request the most: %(amount)s.") % {
        "pods": format_count(pods[owner], "pods"),
        "owner": owner,
        "amount": amount_of(amount, level.resource),
    }


def resource_words(resource: str) -> str:
    """Return the name of a resource in a sentence."""
    names = {"cpu": "CPU", "memory": gettext("memory"), PODS: gettext("pods")}
    return names.get(resource, resource)
