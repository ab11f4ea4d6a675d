"""What REST tells of groups of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.groups.words import headline

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.groups.standing import Standing

Told = dict[str, Any]


def standing(found: Standing) -> Told:
    """How a group stands."""
    group = found.group
    return {
        "namespace": found.namespace,
        "name": found.name,
        "state": found.state.value,
        "sentence": found.sentence,
        "minCount": None if group is None else group.min_count,
        "topologyKey": "" if group is None else group.topology_key,
        "priority": None if group is None else group.priority,
        "bound": len(found.bound),
        "pending": len(found.pending),
        "gated": found.gated,
        "missing": found.missing,
    }


def answer(case: GroupCase) -> Told:
    """What would become of a group."""
    said = headline(case)
    return {
        **standing(case.standing),
        "title": said.title,
        "details": said.details,
        "gatesOff": [] if case.rules.switched else list(case.rules.off),
        "gatesSwitched": list(case.rules.off) if case.rules.switched else [],
        "boundPods": [{"pod": pod.key, "node": pod.node_name} for pod in case.standing.bound],
        "blocked": case.blocked,
        "freedClaims": case.freed,
        "answer": None if case.found is None else case.found.to_dict(),
    }
