"""Whether a group fits, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.case import Case
from kschedweb.decisions.groups.rules import able, gates_named
from kschedweb.decisions.groups.standing import State
from kschedweb.decisions.parts import Headline
from kschedweb.decisions.words import listed
from kschedweb.engine.framework.status import Code
from kschedweb.engine.objects.podgroup import GENERIC
from kschedweb.engine.plugins.gangscheduling import TOO_FEW
from kschedweb.web.units import counted

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
        return Headline(f"{standing.name}: {standing.sentence}", STANDING[standing.state])
    if found is None:
        return _alone(case)
    if not found.held.ok:
        return _held(case, found)
    if found.placed:
        return _fits(case, found)
    return _refused(case, found)


def _alone(case: GroupCase) -> Headline:
    """The scheduler does not know groups, or does not look at them."""
    release, name = case.rules.configuration.release, case.standing.name
    if not case.rules.able:
        said = f"Only kube-scheduler {listed(able())} schedules groups: choose a policy of that release."
        return Headline(f"{name} is not scheduled as a group by kube-scheduler {release.name}", "amber", [said])
    title = f"{name} is not scheduled as a group: the {gates_named([GENERIC])} is off"
    return Headline(title, "amber", [f"{case.standing.sentence.capitalize()}. Each pod is placed alone."])


def _held(case: GroupCase, found: GroupPlacement) -> Headline:
    standing, held = case.standing, found.held
    if TOO_FEW in held.reasons:
        verb = "names" if standing.size == 1 else "name"
        why = f"it waits for {counted(standing.missing, 'more pods')}"
        least = standing.group.least if standing.group is not None else 0
        details = [f"Its minCount is {least:,}, and {counted(standing.size, 'pods')} {verb} it."]
    elif held.plugin == "SchedulingGates":
        why, details = f"{standing.gated:,} of {counted(standing.size, 'pods')} gated", []
    else:
        why, details = f"{held.plugin} keeps it out of the queue", []
    if found.placed:
        details.append("Otherwise it would fit, as shown below.")
    return Headline(f"{standing.name} is not tried: {why}", "amber", details, held.message)


def _fits(case: GroupCase, found: GroupPlacement) -> Headline:
    standing = case.standing
    nodes = [one.node for one in found.placements if one.node]
    rest = len(found.placements) - len(nodes)
    where = f" in {found.domain}" if found.domain else ""
    on = listed([nodes[0]]) if len(set(nodes)) == 1 else counted(len(set(nodes)), "nodes")
    if not rest:
        pods = "its pod goes" if len(nodes) == 1 else f"all {len(nodes):,} pods go"
        if standing.bound:
            pods = f"the {counted(len(nodes), 'pods')} without a node {'goes' if len(nodes) == 1 else 'go'}"
        return Headline(f"{standing.name} fits: {pods} to {on}{where}", "blue")
    least = standing.group.least if standing.group is not None else 0
    details = [f"With {counted(len(standing.bound) + len(nodes), 'pods')} on nodes it reaches its minCount, {least:,}."]
    if case.blocked:
        details.append(f"The first pod without a node: {case.blocked}.")
    title = (
        f"{standing.name} fits in part: {len(nodes):,} of {counted(len(found.placements), 'pods')} go to {on}{where}"
    )
    return Headline(title, "amber", details)


def _refused(case: GroupCase, found: GroupPlacement) -> Headline:
    name, quote = case.standing.name, found.status.message
    if found.status.code is Code.ERROR:
        return Headline(f"{name} cannot be decided: its scheduling cycle ends in an error", "red", [], quote)
    if found.waits_for_room:
        victims = len(found.victims)
        if not victims:
            return Headline(f"{name} waits for pods that are already terminating", "amber", _why(case), quote)
        leave = "1 pod has gone" if victims == 1 else f"{victims:,} pods have gone"
        details = [*_why(case), f"kube-scheduler would evict {counted(victims, 'pods')} of lower priority for it."]
        return Headline(f"{name} fits only once {leave}", "amber", details, quote)
    return Headline(f"{name} does not fit: {_short(case, found)}", "red", _why(case), quote)


def _short(case: GroupCase, found: GroupPlacement) -> str:
    if len(found.tries) > 1:
        return f"none of {counted(len(found.tries), 'domains')} has room for it"
    tried = case.first_try
    if not found.blocking or tried is None:
        return found.searched.message or "no reason is given"
    placed = sum(bool(one.node) for one in tried.placements)
    before = "pod" if placed == 1 else counted(placed, "pods")
    beside = f" beside the {before} before it" if placed else ""
    return f"{short(found.blocking, case.standing)} finds no node{beside}"


def _why(case: GroupCase) -> list[str]:
    """The sentence about the pod that blocks, where there is one, and what would be given back."""
    said, tried = [], case.first_try
    if case.blocked:
        where = f"In {tried.domain.name}: " if tried is not None and tried.domain.name else ""
        said.append(f"{where}{case.blocked}.")
    if case.freed:
        said.append(f"The devices of {listed(case.freed)} would be released, and the group tried again.")
    return said


def by_itself(case: AnyCase) -> str:
    """What has to be said where a pod is explained by itself which is scheduled with its group; "" where it is not."""
    if not (isinstance(case, Case) and case.pod.scheduling_group and case.scheduler.configuration.release.groups):
        return ""
    name = case.pod.scheduling_group.partition("/")[2]
    return f"kube-scheduler places it together with its group {name}. Here it is explained alone."


def short(key: str, standing: Standing) -> str:
    """The key of a pod, without the namespace where it is the group's."""
    return key.removeprefix(f"{standing.namespace}/")
