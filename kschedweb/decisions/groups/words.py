"""Whether a group fits, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.decisions.case import Case
from kschedweb.decisions.groups.rules import able, gates_named
from kschedweb.decisions.groups.standing import State
from kschedweb.decisions.parts import Headline
from kschedweb.decisions.words import listed
from kschedweb.engine.framework.status import Code
from kschedweb.engine.objects.podgroup import GENERIC
from kschedweb.engine.plugins.gangscheduling import TOO_FEW
from kschedweb.web.counting import counted

if TYPE_CHECKING:
    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.groups.standing import Standing
    from kschedweb.engine.cycle.groupplacement import GroupPlacement

STANDING = {State.BOUND: "green", State.EMPTY: "", State.MISSING: "amber", State.UNREAD: "amber"}


def headline(case: GroupCase) -> Headline:
    """The answer in one sentence, with details."""
    standing, found = case.standing, case.found
    if standing.state in STANDING:
        title = gettext("%(group)s: %(state)s") % {"group": standing.name, "state": standing.sentence}
        return Headline(title, STANDING[standing.state])
    if case.handled_by:
        title = gettext("%(group)s is handled by %(scheduler)s") % {
            "group": standing.name,
            "scheduler": case.handled_by,
        }
        said = gettext(
            "%(standing)s. Neither this policy nor a live scheduler answers for its pods, so nothing is decided here."
        )
        return Headline(title, "", [said % {"standing": standing.sentence.capitalize()}])
    if found is None:
        return _alone(case)
    if not found.held.ok:
        return _held(case, found)
    if found.placed:
        return _fits(case, found)
    return _refused(case, found)


def _alone(case: GroupCase) -> Headline:
    """The scheduler does not know groups, or does not look at them."""
    told = {"group": case.standing.name, "release": case.rules.configuration.release.name}
    if not case.rules.able:
        said = gettext("Only kube-scheduler %(releases)s schedules groups: choose a policy of that release.")
        title = gettext("%(group)s is not scheduled as a group by kube-scheduler %(release)s") % told
        return Headline(title, "amber", [said % {"releases": listed(able())}])
    title = gettext("%(group)s is not scheduled as a group: the %(gates)s is off")
    said = gettext("%(standing)s. Each pod is placed alone.") % {"standing": case.standing.sentence.capitalize()}
    return Headline(title % {**told, "gates": gates_named([GENERIC])}, "amber", [said])


def _held(case: GroupCase, found: GroupPlacement) -> Headline:
    standing, held = case.standing, found.held
    details: list[str] = []
    if TOO_FEW in held.reasons:
        why = gettext("it waits for %(pods)s") % {"pods": counted(standing.missing, "more pods")}
        least = standing.group.least if standing.group is not None else 0
        said = ngettext(
            "Its minCount is %(least)s, and %(pods)s names it.",
            "Its minCount is %(least)s, and %(pods)s name it.",
            standing.size,
        )
        details.append(said % {"least": f"{least:,}", "pods": counted(standing.size, "pods")})
    elif held.plugin == "SchedulingGates":
        told = {"gated": f"{standing.gated:,}", "pods": counted(standing.size, "pods")}
        why = gettext("%(gated)s of %(pods)s gated") % told
    else:
        why = gettext("%(plugin)s keeps it out of the queue") % {"plugin": held.plugin}
    if found.placed:
        details.append(gettext("Otherwise it would fit, as shown below."))
    title = gettext("%(group)s is not tried: %(why)s") % {"group": standing.name, "why": why}
    return Headline(title, "amber", details, held.message)


def _fits(case: GroupCase, found: GroupPlacement) -> Headline:
    standing = case.standing
    nodes = [one.node for one in found.placements if one.node]
    rest = len(found.placements) - len(nodes)
    on = listed([nodes[0]]) if len(set(nodes)) == 1 else counted(len(set(nodes)), "nodes")
    if found.domain:
        on = gettext("%(nodes)s in %(domain)s") % {"nodes": on, "domain": found.domain}
    told = {"group": standing.name, "on": on, "number": f"{len(nodes):,}", "pods": counted(len(nodes), "pods")}
    if not rest and standing.bound:
        title = ngettext(
            "%(group)s fits: the %(pods)s without a node goes to %(on)s",
            "%(group)s fits: the %(pods)s without a node go to %(on)s",
            len(nodes),
        )
        return Headline(title % told, "blue")
    if not rest:
        title = ngettext(
            "%(group)s fits: its pod goes to %(on)s", "%(group)s fits: all %(number)s pods go to %(on)s", len(nodes)
        )
        return Headline(title % told, "blue")
    least = standing.group.least if standing.group is not None else 0
    reached = {"pods": counted(len(standing.bound) + len(nodes), "pods"), "least": f"{least:,}"}
    details = [gettext("With %(pods)s on nodes it reaches its minCount, %(least)s.") % reached]
    if case.blocked:
        details.append(gettext("The first pod without a node: %(why)s.") % {"why": case.blocked})
    told["pods"] = counted(len(found.placements), "pods")
    return Headline(gettext("%(group)s fits in part: %(number)s of %(pods)s go to %(on)s") % told, "amber", details)


def _refused(case: GroupCase, found: GroupPlacement) -> Headline:
    told, quote = {"group": case.standing.name}, found.status.message
    if found.status.code is Code.ERROR:
        title = gettext("%(group)s cannot be decided: its scheduling cycle ends in an error")
        return Headline(title % told, "red", [], quote)
    if found.waits_for_room:
        victims = len(found.victims)
        if not victims:
            title = gettext("%(group)s waits for pods that are already terminating")
            return Headline(title % told, "amber", _why(case), quote)
        said = gettext("kube-scheduler would evict %(pods)s of lower priority for it.")
        details = [*_why(case), said % {"pods": counted(victims, "pods")}]
        title = ngettext(
            "%(group)s fits only once %(number)s pod has gone",
            "%(group)s fits only once %(number)s pods have gone",
            victims,
        )
        return Headline(title % {**told, "number": f"{victims:,}"}, "amber", details, quote)
    title = gettext("%(group)s does not fit: %(why)s") % {**told, "why": _short(case, found)}
    return Headline(title, "red", _why(case), quote)


def _short(case: GroupCase, found: GroupPlacement) -> str:
    if len(found.tries) > 1:
        return gettext("none of %(domains)s has room for it") % {"domains": counted(len(found.tries), "domains")}
    tried = case.first_try
    if not found.blocking or tried is None:
        return found.searched.message or gettext("no reason is given")
    placed = sum(bool(one.node) for one in tried.placements)
    told = {"pod": short(found.blocking, case.standing), "number": f"{placed:,}"}
    if not placed:
        return gettext("%(pod)s finds no node") % told
    said = ngettext(
        "%(pod)s finds no node beside the pod before it",
        "%(pod)s finds no node beside the %(number)s pods before it",
        placed,
    )
    return said % told


def _why(case: GroupCase) -> list[str]:
    """The sentence about the pod that blocks, where there is one, and what would be given back."""
    said, tried = [], case.first_try
    if case.blocked:
        where = tried.domain.name if tried is not None else ""
        message = gettext("In %(domain)s: %(why)s.") if where else gettext("%(why)s.")
        said.append(message % {"domain": where, "why": case.blocked})
    if case.freed:
        message = gettext("The devices of %(pods)s would be released, and the group tried again.")
        said.append(message % {"pods": listed(case.freed)})
    return said


def by_itself(case: AnyCase) -> str:
    """What has to be said where a pod is explained by itself which is scheduled with its group; "" where it is not."""
    if not (isinstance(case, Case) and case.pod.scheduling_group and case.scheduler.configuration.release.groups):
        return ""
    name = case.pod.scheduling_group.partition("/")[2]
    said = gettext("kube-scheduler places it together with its group %(group)s. Here it is explained alone.")
    return said % {"group": name}


def short(key: str, standing: Standing) -> str:
    """The key of a pod, without the namespace where it is the group's."""
    return key.removeprefix(f"{standing.namespace}/")
