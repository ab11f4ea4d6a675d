"""The answer whether a group fits, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.decisions.case import Case
from kschedweb.decisions.groups.group_status import GroupState
from kschedweb.decisions.groups.rules import gates_named, releases_with_groups
from kschedweb.decisions.page_parts import Headline
from kschedweb.decisions.words import join_with_and
from kschedweb.engine.framework.status import Code
from kschedweb.engine.objects.podgroup import GENERIC
from kschedweb.engine.plugins.gangscheduling import TOO_FEW
from kschedweb.web.counting import format_count

if TYPE_CHECKING:
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.groups.group_status import GroupStatus
    from kschedweb.engine.cycle.group_placement import GroupPlacement

STATE_COLORS = {
    GroupState.BOUND: "green",
    GroupState.EMPTY: "",
    GroupState.MISSING: "amber",
    GroupState.UNREAD: "amber",
}


def build_headline(case: GroupCase) -> Headline:
    """Return the answer in one sentence, with details."""
    group_status, placement = case.group_status, case.placement
    if group_status.state in STATE_COLORS:
        title = gettext("%(group)s: %(state)s") % {"group": group_status.name, "state": group_status.sentence}
        return Headline(title, STATE_COLORS[group_status.state])
    if case.handled_by:
        title = gettext("%(group)s is handled by %(scheduler)s") % {
            "group": group_status.name,
            "scheduler": case.handled_by,
        }
        template = gettext(
            "%(standing)s. Neither this policy nor a live scheduler answers for its pods, so nothing is decided here."
        )
        return Headline(title, "", [template % {"standing": group_status.sentence.capitalize()}])
    if placement is None:
        return _ungrouped_headline(case)
    if not placement.pre_enqueue_status.ok:
        return _held_headline(case, placement)
    if placement.placed:
        return _fits_headline(case, placement)
    return _refused_headline(case, placement)


def _ungrouped_headline(case: GroupCase) -> Headline:
    """Return the headline for a scheduler that does not know groups, or has them switched off."""
    parameters = {"group": case.group_status.name, "release": case.rules.configuration.release.name}
    if not case.rules.able:
        detail = gettext("Only kube-scheduler %(releases)s schedules groups: choose a policy of that release.")
        title = gettext("%(group)s is not scheduled as a group by kube-scheduler %(release)s") % parameters
        return Headline(title, "amber", [detail % {"releases": join_with_and(releases_with_groups())}])
    title = gettext("%(group)s is not scheduled as a group: the %(gates)s is off")
    detail = gettext("%(standing)s. Each pod is placed alone.") % {"standing": case.group_status.sentence.capitalize()}
    return Headline(title % {**parameters, "gates": gates_named([GENERIC])}, "amber", [detail])


def _held_headline(case: GroupCase, placement: GroupPlacement) -> Headline:
    group_status, held_status = case.group_status, placement.pre_enqueue_status
    details: list[str] = []
    if TOO_FEW in held_status.reasons:
        why = gettext("it waits for %(pods)s") % {"pods": format_count(group_status.missing, "more pods")}
        min_count = group_status.group.min_placed if group_status.group is not None else 0
        template = ngettext(
            "Its minCount is %(least)s, and %(pods)s names it.",
            "Its minCount is %(least)s, and %(pods)s name it.",
            group_status.size,
        )
        details.append(template % {"least": f"{min_count:,}", "pods": format_count(group_status.size, "pods")})
    elif held_status.plugin == "SchedulingGates":
        parameters = {"gated": f"{group_status.gated:,}", "pods": format_count(group_status.size, "pods")}
        why = gettext("%(gated)s of %(pods)s gated") % parameters
    else:
        why = gettext("%(plugin)s keeps it out of the queue") % {"plugin": held_status.plugin}
    if placement.placed:
        details.append(gettext("Otherwise it would fit, as shown below."))
    title = gettext("%(group)s is not tried: %(why)s") % {"group": group_status.name, "why": why}
    return Headline(title, "amber", details, held_status.message)


def _fits_headline(case: GroupCase, placement: GroupPlacement) -> Headline:
    group_status = case.group_status
    nodes = [pod_placement.node for pod_placement in placement.placements if pod_placement.node]
    unplaced = len(placement.placements) - len(nodes)
    on = join_with_and([nodes[0]]) if len(set(nodes)) == 1 else format_count(len(set(nodes)), "nodes")
    if placement.domain:
        on = gettext("%(nodes)s in %(domain)s") % {"nodes": on, "domain": placement.domain}
    parameters = {
        "group": group_status.name,
        "on": on,
        "number": f"{len(nodes):,}",
        "pods": format_count(len(nodes), "pods"),
    }
    if not unplaced and group_status.bound:
        title = ngettext(
            "%(group)s fits: the %(pods)s without a node goes to %(on)s",
            "%(group)s fits: the %(pods)s without a node go to %(on)s",
            len(nodes),
        )
        return Headline(title % parameters, "blue")
    if not unplaced:
        title = ngettext(
            "%(group)s fits: its pod goes to %(on)s", "%(group)s fits: all %(number)s pods go to %(on)s", len(nodes)
        )
        return Headline(title % parameters, "blue")
    min_count = group_status.group.min_placed if group_status.group is not None else 0
    reached = {"pods": format_count(len(group_status.bound) + len(nodes), "pods"), "least": f"{min_count:,}"}
    details = [gettext("With %(pods)s on nodes it reaches its minCount, %(least)s.") % reached]
    if case.blocked:
        details.append(gettext("The first pod without a node: %(why)s.") % {"why": case.blocked})
    parameters["pods"] = format_count(len(placement.placements), "pods")
    return Headline(
        gettext("%(group)s fits in part: %(number)s of %(pods)s go to %(on)s") % parameters, "amber", details
    )


def _refused_headline(case: GroupCase, placement: GroupPlacement) -> Headline:
    parameters, quote = {"group": case.group_status.name}, placement.status.message
    if placement.status.code is Code.ERROR:
        title = gettext("%(group)s cannot be decided: its scheduling cycle ends in an error")
        return Headline(title % parameters, "red", [], quote)
    if placement.waits_for_room:
        victims = len(placement.victims)
        if not victims:
            title = gettext("%(group)s waits for pods that are already terminating")
            return Headline(title % parameters, "amber", _blocking_details(case), quote)
        template = gettext("kube-scheduler would evict %(pods)s of lower priority for it.")
        details = [*_blocking_details(case), template % {"pods": format_count(victims, "pods")}]
        title = ngettext(
            "%(group)s fits only once %(number)s pod has gone",
            "%(group)s fits only once %(number)s pods have gone",
            victims,
        )
        return Headline(title % {**parameters, "number": f"{victims:,}"}, "amber", details, quote)
    title = gettext("%(group)s does not fit: %(why)s") % {**parameters, "why": _short_reason(case, placement)}
    return Headline(title, "red", _blocking_details(case), quote)


def _short_reason(case: GroupCase, placement: GroupPlacement) -> str:
    if len(placement.tries) > 1:
        return gettext("none of %(domains)s has room for it") % {
            "domains": format_count(len(placement.tries), "domains")
        }
    domain_try = case.first_try
    if not placement.blocking or domain_try is None:
        return placement.searched.message or gettext("no reason is given")
    placed = sum(bool(pod_placement.node) for pod_placement in domain_try.placements)
    parameters = {"pod": short_pod_name(placement.blocking, case.group_status), "number": f"{placed:,}"}
    if not placed:
        return gettext("%(pod)s finds no node") % parameters
    template = ngettext(
        "%(pod)s finds no node beside the pod before it",
        "%(pod)s finds no node beside the %(number)s pods before it",
        placed,
    )
    return template % parameters


def _blocking_details(case: GroupCase) -> list[str]:
    """Return the sentence about the pod that blocks, if there is one, and about devices that would be released."""
    details, domain_try = [], case.first_try
    if case.blocked:
        domain = domain_try.domain.name if domain_try is not None else ""
        message = gettext("In %(domain)s: %(why)s.") if domain else gettext("%(why)s.")
        details.append(message % {"domain": domain, "why": case.blocked})
    if case.freed:
        message = gettext("The devices of %(pods)s would be released, and the group tried again.")
        details.append(message % {"pods": join_with_and(case.freed)})
    return details


def by_itself(case: AnyCase) -> str:
    """Return a note for a pod that is explained alone but scheduled with its group, "" for other pods."""
    if not (
        isinstance(case, Case)
        and case.pod.scheduling_group
        and case.scheduler.configuration.release.has_group_scheduling
    ):
        return ""
    name = case.pod.scheduling_group.partition("/")[2]
    template = gettext("kube-scheduler places it together with its group %(group)s. Here it is explained alone.")
    return template % {"group": name}


def short_pod_name(key: str, group_status: GroupStatus) -> str:
    """Return the key of a pod, without the namespace if it is the group's."""
    return key.removeprefix(f"{group_status.namespace}/")
