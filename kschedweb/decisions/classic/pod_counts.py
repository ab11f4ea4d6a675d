"""The arithmetic of priorities that count pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions.classic.calculation import MAX_PRIORITY, ScoreCalculation, ScoreContext
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.interpodaffinity import SCORE
from kschedweb.engine.releases.classic.priorities.spreading import ZONE_WEIGHT

if TYPE_CHECKING:
    from kschedweb.engine.objects.labels import Selector


def explain_selector_spread(context: ScoreContext) -> ScoreCalculation:
    selectors = _get_selectors(context)
    calculation = ScoreCalculation(
        "Counts pods of the services and controllers that the pod is of; fewer are better."
        if selectors
        else "The pod is of no service and no controller, so there is nothing to spread."
    )
    calculation.mapped = _count_pods(context, context.position, selectors)
    if selectors:
        calculation.add_step(
            "Pods on the node", f"in namespace {context.case.pod.namespace}, meant by a selector", calculation.mapped
        )
    max_count, zones = max(context.mapped), context.case.snapshot.zones()
    if not max_count:
        calculation.reduced, calculation.reducing = MAX_PRIORITY, "no feasible node has any: 10 for all"
        return calculation
    score = _scale_reversed(calculation.mapped, max_count)
    formula = f"{MAX_PRIORITY} × ({max_count} − {calculation.mapped}) ÷ {max_count}"
    zone = int(zones.codes[context.position])
    if zone < 0:
        calculation.reduced, calculation.reducing = int(score), f"{formula}, cut to a whole number"
        return calculation
    by_zone = [0] * len(zones.values)
    for node, count in zip(context.case.explanation.feasible.tolist(), context.mapped, strict=True):
        if (code := int(zones.codes[node])) >= 0:
            by_zone[code] += count
    fullest, zone_count = max(by_zone), by_zone[zone]
    zone_score = _scale_reversed(zone_count, fullest) if fullest else float(MAX_PRIORITY)
    zone_formula = f"{MAX_PRIORITY} × ({fullest} − {zone_count}) ÷ {fullest}" if fullest else f"{MAX_PRIORITY}"
    name = str(zones.values[zone]).replace(":\x00:", " ").strip()
    calculation.add_step(f"Pods in zone {name}", f"on feasible nodes; the fullest zone has {fullest}", zone_count)
    # In floats and in Go's order, before the cut to a whole number.
    calculation.reduced = int(score * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * zone_score)
    calculation.reducing = f"⅓ × {formula} + ⅔ × {zone_formula}, cut to a whole number"
    return calculation


def explain_service_anti_affinity(context: ScoreContext) -> ScoreCalculation:
    """Explain serviceAntiAffinity, of 1.13 and of 1.9."""
    plugin, key, selectors = context.plugin, context.plugin.label, _get_selectors(context)
    calculation = ScoreCalculation(
        f"Counts pods of the pod's first service by the value of {key}; fewer at the node's value is better."
    )
    calculation.mapped = _count_pods(context, context.position, selectors)
    calculation.add_step(
        "Pods on the node", "of the service" if selectors else "the pod is of no service", calculation.mapped
    )
    value = context.labels.get(key)
    if value is None:
        calculation.reducing = "the node lacks the label: 0"
        return calculation
    total = plugin.count_pods(Cycle(context.case.snapshot, context.case.pod), context.column.raw)
    feasible, nodes = context.case.explanation.feasible.tolist(), context.case.snapshot.nodes
    value_count = sum(
        count for node, count in zip(feasible, context.mapped, strict=True) if nodes[node].labels.get(key) == value
    )
    calculation.add_step(f"Pods at {key}={value}", f"of {total} in all", value_count)
    calculation.reduced = int(_scale_reversed(value_count, total)) if total > 0 else MAX_PRIORITY
    calculation.reducing = (
        f"{MAX_PRIORITY} × ({total} − {value_count}) ÷ {total}, cut to a whole number" if total > 0 else "no pods: 10"
    )
    return calculation


def explain_inter_pod_affinity(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation(
        "Weights of preferred affinity less those of anti-affinity, of this pod towards pods there and of theirs "
        f"towards it; a required affinity term of a pod there counts {context.plugin.hard_weight}."
    )
    for label, part in _affinity_parts(context):
        calculation.mapped += part
        calculation.add_step(label, "all terms that hold in this place, with their weights", f"{part:+d}")
    # The range always includes 0, as in the original.
    low, high = min(0, *context.mapped), max(0, *context.mapped)
    if low == high:
        calculation.reducing = "no node is told apart: 0 for all"
        return calculation
    share = float(calculation.mapped - low) / float(high - low)
    calculation.reduced = int(float(MAX_PRIORITY) * share)
    calculation.reducing = f"{MAX_PRIORITY} × ({calculation.mapped} − {low}) ÷ ({high} − {low}), cut to a whole number"
    return calculation


def _affinity_parts(context: ScoreContext) -> list[tuple[str, int]]:
    """Return the sums of weights of the terms that hold, by the node's place."""
    case = context.case
    cycle = Cycle(case.snapshot, case.pod)
    context.plugin.pre_score(cycle, case.explanation.feasible)
    sums: Any = cycle.state.get(SCORE)
    if sums is None:
        return []
    affinities = [case.pod.pod_affinity, *(terms.affinity for terms in case.snapshot.pods.term_sets)]
    terms = [term for item in affinities for term in (*item.required, *item.preferred, *item.anti_preferred)]
    parts = []
    for key in dict.fromkeys(term.topology_key for term in terms):
        place = f"{key}={context.labels[key]}" if key in context.labels else f"{key}: the node has no such label"
        parts.append((place, int(sums.at_nodes(key)[context.position])))
    return parts


def _get_selectors(context: ScoreContext) -> list[Selector]:
    selectors: list[Selector] = context.plugin.list_selectors(Cycle(context.case.snapshot, context.case.pod))
    return selectors


def _count_pods(context: ScoreContext, node: int, selectors: list[Selector]) -> int:
    """Count the pods on ``node``, in the pod's namespace, that any of ``selectors`` matches."""
    pod = context.case.pod
    return sum(
        other.namespace == pod.namespace
        and (context.plugin.terminating or not other.terminating)
        and any(selector.matches(other.labels) for selector in selectors)
        for other in context.case.snapshot.pods.pods_on(node)
    )


def _scale_reversed(count: int, maximum: int) -> float:
    """Return 10 times the share of ``maximum`` that is left beside ``count``."""
    return float(MAX_PRIORITY) * (float(maximum - count) / float(maximum))
