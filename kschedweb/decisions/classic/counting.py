"""The arithmetic of priorities that count pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.classic.worked import MOST, ScoreContext, Worked
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.interpodaffinity import SCORE
from kschedweb.engine.releases.classic.priorities.spreading import ZONE_WEIGHT

if TYPE_CHECKING:
    from kschedweb.engine.objects.labels import Selector


def spread(asked: ScoreContext) -> Worked:
    selectors = _selectors(asked)
    worked = Worked(
        "Counts pods of the services and controllers that the pod is of; fewer are better."
        if selectors
        else "The pod is of no service and no controller, so there is nothing to spread."
    )
    worked.mapped = _pods(asked, asked.position, selectors)
    if selectors:
        worked.step("Pods on the node", f"in namespace {asked.case.pod.namespace}, meant by a selector", worked.mapped)
    most, zones = max(asked.mapped), asked.case.snapshot.zones()
    if not most:
        worked.reduced, worked.reducing = MOST, "no feasible node has any: 10 for all"
        return worked
    score = _left(worked.mapped, most)
    formula = f"{MOST} × ({most} − {worked.mapped}) ÷ {most}"
    zone = int(zones.codes[asked.position])
    if zone < 0:
        worked.reduced, worked.reducing = int(score), f"{formula}, cut to a whole number"
        return worked
    by_zone = [0] * len(zones.values)
    for node, count in zip(asked.case.explanation.feasible.tolist(), asked.mapped, strict=True):
        if (code := int(zones.codes[node])) >= 0:
            by_zone[code] += count
    fullest, own = max(by_zone), by_zone[zone]
    zone_score = _left(own, fullest) if fullest else float(MOST)
    there = f"{MOST} × ({fullest} − {own}) ÷ {fullest}" if fullest else f"{MOST}"
    name = str(zones.values[zone]).replace(":\x00:", " ").strip()
    worked.step(f"Pods in zone {name}", f"on feasible nodes; the fullest zone has {fullest}", own)
    worked.reduced = int(score * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * zone_score)
    worked.reducing = f"⅓ × {formula} + ⅔ × {there}, cut to a whole number"
    return worked


def apart(asked: ScoreContext) -> Worked:
    """serviceAntiAffinity of 1.13 and of 1.9."""
    plugin, key, selectors = asked.plugin, asked.plugin.label, _selectors(asked)
    worked = Worked(
        f"Counts pods of the pod's first service by the value of {key}; fewer at the node's value is better."
    )
    worked.mapped = _pods(asked, asked.position, selectors)
    worked.step("Pods on the node", "of the service" if selectors else "the pod is of no service", worked.mapped)
    value = asked.labels.get(key)
    if value is None:
        worked.reducing = "the node lacks the label: 0"
        return worked
    total = plugin.total(Cycle(asked.case.snapshot, asked.case.pod), asked.column.raw)
    feasible, nodes = asked.case.explanation.feasible.tolist(), asked.case.snapshot.nodes
    here = sum(
        count for node, count in zip(feasible, asked.mapped, strict=True) if nodes[node].labels.get(key) == value
    )
    worked.step(f"Pods at {key}={value}", f"of {total} in all", here)
    worked.reduced = int(_left(here, total)) if total > 0 else MOST
    worked.reducing = f"{MOST} × ({total} − {here}) ÷ {total}, cut to a whole number" if total > 0 else "no pods: 10"
    return worked


def affinity(asked: ScoreContext) -> Worked:
    worked = Worked(
        "Weights of preferred affinity less those of anti-affinity, of this pod towards pods there and of theirs "
        f"towards it; a required affinity term of a pod there counts {asked.plugin.hard_weight}."
    )
    for label, part in _parts(asked):
        worked.mapped += part
        worked.step(label, "all terms that hold in this place, with their weights", f"{part:+d}")
    low, high = min(0, *asked.mapped), max(0, *asked.mapped)
    if low == high:
        worked.reducing = "no node is told apart: 0 for all"
        return worked
    share = float(worked.mapped - low) / float(high - low)
    worked.reduced = int(float(MOST) * share)
    worked.reducing = f"{MOST} × ({worked.mapped} − {low}) ÷ ({high} − {low}), cut to a whole number"
    return worked


def _parts(asked: ScoreContext) -> list[tuple[str, int]]:
    """The sums of weights of the terms that hold, by place of the node."""
    case = asked.case
    cycle = Cycle(case.snapshot, case.pod)
    asked.plugin.pre_score(cycle, case.explanation.feasible)
    sums: Any = cycle.state.get(SCORE)
    if sums is None:
        return []
    affinities = [case.pod.pod_affinity, *(terms.affinity for terms in case.snapshot.pods.term_sets)]
    terms = [term for item in affinities for term in (*item.required, *item.preferred, *item.anti_preferred)]
    found = []
    for key in dict.fromkeys(term.topology_key for term in terms):
        place = f"{key}={asked.labels[key]}" if key in asked.labels else f"{key}: the node has no such label"
        found.append((place, int(sums.at_nodes(key)[asked.position])))
    return found


def _selectors(asked: ScoreContext) -> list[Selector]:
    found: list[Selector] = asked.plugin.selectors(Cycle(asked.case.snapshot, asked.case.pod))
    return found


def _pods(asked: ScoreContext, node: int, selectors: list[Selector]) -> int:
    """The number of pods on ``node``, in the pod's namespace, that some of ``selectors`` matches."""
    pod = asked.case.pod
    return sum(
        other.namespace == pod.namespace
        and (asked.plugin.terminating or not other.terminating)
        and any(selector.matches(other.labels) for selector in selectors)
        for other in asked.case.snapshot.pods.on(node)
    )


def _left(count: int, most: int) -> float:
    """10 times the share of ``most`` that ``count`` leaves."""
    return float(MOST) * (float(most - count) / float(most))
