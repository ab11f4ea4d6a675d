"""The arithmetic of one cell of the matrix: inputs, formula with the numbers put in, normalisation, weight.

The numbers are those the plugins read; ``computed`` is what the shown steps come to and equals the engine's raw score
(the tests say so for every plugin that is worked out here).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.decisions.load_aware.arithmetic import NORMALIZED
from kschedweb.decisions.load_aware.arithmetic import WORKED as LOAD_AWARE
from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.objects.resources import CPU, MEMORY, is_scalar
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE, tolerated
from kschedweb.engine.plugins.imagelocality import LEAST, MOST_A_CONTAINER, normalized
from kschedweb.engine.plugins.interpodaffinity import SCORE as AFFINITY
from kschedweb.engine.plugins.noderesourcesfit import broken_line
from kschedweb.engine.plugins.podtopologyspread import score_key
from kschedweb.web.units import amount, memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.decisions.case import Case
    from kschedweb.decisions.matrix import Matrix
    from kschedweb.engine.framework.explanation import ScoreColumn

BASICS: tuple[dict[str, Any], ...] = ({"name": CPU, "weight": 1}, {"name": MEMORY, "weight": 1})


def explain(matrix: Matrix, case: Case, node: int, plugin: str) -> Arithmetic:
    """The arithmetic of ``plugin`` on the node at position ``node``; ``error`` says why there is none."""
    name = matrix.explanation.nodes[node]
    found = scored(matrix, node, plugin)
    if isinstance(found, str):
        return Arithmetic(name, plugin, "", error=found)
    column, index = found
    raw, final = int(column.raw[index]), int(column.normalized[index])
    result = WORKED[plugin](case, node) if plugin in WORKED else Arithmetic(name, plugin, ABOUT.get(plugin, ""))
    result.node, result.plugin = name, plugin
    result.steps.append(Step("Raw score", "as the plugin answered", str(raw)))
    result.steps.append(_normalization(plugin, column.raw.tolist(), raw, final))
    result.steps.append(Step("Weight", f"{final} × {column.weight}", str(final * column.weight)))
    result.steps.append(place(matrix, node))
    return result


def scored(matrix: Matrix, node: int, plugin: str) -> tuple[ScoreColumn, int] | str:
    """The plugin's column and the node's place in it, or why there is none."""
    column = next((item for item in matrix.explanation.scores if item.plugin == plugin), None)
    if column is None:
        return f"{plugin} scored no node for this pod."
    index = matrix.places.get(node)
    if index is None:
        return f"{matrix.explanation.nodes[node]} was rejected, so it has no score."
    return column, index


def place(matrix: Matrix, node: int) -> Step:
    """The node's total over all plugins, its rank, and how far it is ahead of the runner-up or behind the best."""
    row = matrix.rows([node])[0]
    parts = " + ".join(f"{cell.plugin} {cell.weighted}" for cell in row.cells)
    totals = np.sort(matrix.explanation.total)[::-1]
    if row.margin:
        place = f"{row.behind} behind the best"
    elif len(totals) == 1:
        place = "the only feasible node"
    elif totals[1] == totals[0]:
        place = f"shared with {int((totals == totals[0]).sum()) - 1} more"
    else:
        place = f"{int(totals[0] - totals[1])} ahead of the next"
    return Step(f"Total, rank {row.rank} of {len(totals)}", f"{parts}; {place}", str(row.total))


def _normalization(plugin: str, raws: list[int], raw: int, final: int) -> Step:
    low, high = min(raws), max(raws)
    if plugin in NORMALIZED:
        formula = NORMALIZED[plugin](raws, raw)
    elif plugin == "TaintToleration":
        formula = "no feasible node has such taints: 100 for all" if high <= 0 else f"100 − 100 × {raw} ÷ {high}"
    elif plugin in ("NodeAffinity", "DynamicResources", "VolumeBinding"):
        formula = (
            "the highest raw score is 0: unchanged" if high <= 0 else f"100 × {raw} ÷ {high} (the highest raw score)"
        )
    elif plugin == "InterPodAffinity":
        formula = f"100 × ({raw} − {low}) ÷ ({high} − {low})" if high > low else "all nodes equal: 0 for all"
    elif plugin in ("PodTopologySpread", "HkePodTopologySpread"):
        formula = (
            f"100 × ({high} + lowest − {raw}) ÷ {high}; fewer matching pods are better"
            if high > 0
            else "no matching pods: 100"
        )
    else:
        formula = "already between 0 and 100"
    return Step("Normalised over the feasible nodes", formula, str(final))


def _args(case: Case, plugin: str) -> dict[str, Any]:
    profiles = case.scheduler.configuration.profiles
    profile = next(item for item in profiles if item.scheduler_name == case.pod.scheduler_name)
    return profile.args.get(plugin) or {}


def _fit(case: Case, node: int) -> Arithmetic:
    strategy = _args(case, "NodeResourcesFit").get("scoringStrategy") or {}
    kind = strategy.get("type") or "LeastAllocated"
    result = Arithmetic(
        "", "", f"Strategy {kind}: the weighted mean over the resources below, with the pod on the node."
    )
    parts: list[tuple[int, int]] = []
    for entry in strategy.get("resources") or BASICS:
        name, weight = entry["name"], int(entry.get("weight") or 1)
        asked = case.pod.scoring_requests.get(name, 0)
        allocatable = int(case.snapshot.amounts(case.snapshot.allocatable, name)[node])
        if not allocatable or (asked == 0 and is_scalar(name)):
            result.steps.append(Step(name, "the node or the pod has none of it", "not counted"))
            continue
        used = (
            int(case.snapshot.nonzero[0 if name == CPU else 1, node])
            if name in (CPU, MEMORY)
            else int(case.snapshot.amounts(case.snapshot.requested, name)[node])
        )
        after = used + asked
        score, formula = _strategy(kind, strategy, after, allocatable)
        shown = f"requested {amount(used, name)} + {amount(asked, name)} of {amount(allocatable, name)}: {formula}"
        result.steps.append(Step(f"{name}, weight {weight}", shown, str(score)))
        if kind != "RequestedToCapacityRatio" or score > 0:
            parts.append((score, weight))
    result.computed = _mean(result, parts, kind)
    return result


def _strategy(kind: str, strategy: dict[str, Any], after: int, allocatable: int) -> tuple[int, str]:
    if kind == "LeastAllocated":
        if after > allocatable:
            return 0, "more than there is"
        return (allocatable - after) * 100 // allocatable, f"({allocatable} − {after}) × 100 ÷ {allocatable}"
    share = 100 if after > allocatable else after * 100 // allocatable
    if kind == "MostAllocated":
        return share, f"{min(after, allocatable)} × 100 ÷ {allocatable}"
    shape = (strategy.get("requestedToCapacityRatio") or {}).get("shape") or []
    points = ", ".join(f"{point['utilization']} % → {point['score']}" for point in shape)
    return int(broken_line(shape)[share]), f"{share} % on the line {points} (scores × 10)"


def _mean(result: Arithmetic, parts: list[tuple[int, int]], kind: str) -> int:
    weights = sum(weight for _, weight in parts)
    if not weights:
        return 0
    total = sum(score * weight for score, weight in parts)
    ratio = kind == "RequestedToCapacityRatio"
    mean = int(total / weights + 0.5) if ratio else total // weights
    formula = f"({' + '.join(f'{score} × {weight}' for score, weight in parts)}) ÷ {weights}"
    result.steps.append(Step("Mean", f"{formula}, {'rounded' if ratio else 'rounded down'}", str(mean)))
    return mean


def _balanced(case: Case, node: int) -> Arithmetic:
    result = Arithmetic(
        "", "", "75 leaves the balance between the resources as it is; more brings them closer to equal use."
    )
    before: list[float] = []
    after: list[float] = []
    for entry in _args(case, "NodeResourcesBalancedAllocation").get("resources") or BASICS:
        name = entry["name"]
        asked = case.pod.occupied.get(name, 0)
        allocatable = int(case.snapshot.amounts(case.snapshot.allocatable, name)[node])
        if not allocatable or (asked == 0 and is_scalar(name)):
            continue
        used = int(case.snapshot.amounts(case.snapshot.requested, name)[node])
        before.append(min(1.0, used / allocatable))
        after.append(min(1.0, (used + asked) / allocatable))
        formula = f"{amount(used, name)} → {amount(used + asked, name)} of {amount(allocatable, name)}"
        result.steps.append(Step(f"Use of {name}", formula, f"{before[-1]:.4f} → {after[-1]:.4f}"))
    was, becomes = _balance(before), _balance(after)
    result.steps.append(Step("Balance", "100 × (1 − standard deviation), rounded down", f"{was} → {becomes}"))
    result.computed = 50 + (50 + becomes - was) // 2
    result.steps.append(Step("Change", f"50 + (50 + {becomes} − {was}) ÷ 2", str(result.computed)))
    return result


def _balance(fractions: list[float]) -> int:
    if len(fractions) < 2:
        return 100
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    else:
        mean = sum(fractions) / len(fractions)
        deviation = (sum((item - mean) * (item - mean) for item in fractions) / len(fractions)) ** 0.5
    return int((1 - deviation) * 100.0)


def _taints(case: Case, node: int) -> Arithmetic:
    soft = [taint for taint in case.snapshot.nodes[node].taints if taint.effect == PREFER_NO_SCHEDULE]
    considered = tuple(item for item in case.pod.tolerations if item.effect in ("", PREFER_NO_SCHEDULE))
    missing = [taint for taint in soft if not tolerated(taint, considered)]
    result = Arithmetic(
        "", "", "Counts the node's PreferNoSchedule taints that the pod does not tolerate; fewer are better."
    )
    result.steps.append(Step("Soft taints", ", ".join(map(str, soft)) or "none", str(len(soft))))
    result.steps.append(Step("Not tolerated", ", ".join(map(str, missing)) or "none", str(len(missing))))
    result.computed = len(missing)
    return result


def _node_affinity(case: Case, node: int) -> Arithmetic:
    result = Arithmetic("", "", "Adds the weights of the preferred terms of node affinity that the node matches.")
    if _args(case, "NodeAffinity").get("addedAffinity"):
        result.about += " The profile adds terms of its own, which count as well."
        return result
    labels, total = case.snapshot.nodes[node].labels, 0
    for item in case.pod.node_affinity.preferred or ():
        if item.term.fields:
            return result
        holds = item.term.valid and not item.term.empty and all(part.matches(labels) for part in item.term.labels)
        text = " and ".join(f"{part.key} {part.operator} {', '.join(part.values)}".strip() for part in item.term.labels)
        result.steps.append(
            Step(f"Weight {item.weight}", text or "an empty term", f"+{item.weight}" if holds else "does not match")
        )
        total += item.weight if holds else 0
    result.computed = total
    return result


def _images(case: Case, node: int) -> Arithmetic:
    snapshot, total = case.snapshot, 0
    result = Arithmetic(
        "", "", "Bytes of the pod's images already on the node, each scaled by the share of nodes that have it."
    )
    for image in case.pod.images:
        size, holders = snapshot.images.get(normalized(image), (0, []))
        if node in holders:
            part = int(float(size) * (len(holders) / len(snapshot)))
            total += part
            result.steps.append(Step(image, f"{memory(size)} × {len(holders)} of {len(snapshot)} nodes", memory(part)))
        else:
            result.steps.append(Step(image, "not on the node", "0"))
    most = MOST_A_CONTAINER * case.pod.container_count
    if most <= LEAST:
        result.computed = 0
        return result
    bounded = min(max(total, LEAST), most)
    result.computed = 100 * (bounded - LEAST) // (most - LEAST)
    formula = (
        f"100 × ({memory(bounded)} − {memory(LEAST)}) ÷ ({memory(most)} − {memory(LEAST)}), after bounding by these two"
    )
    result.steps.append(Step("Between the bounds", formula, str(result.computed)))
    return result


def _state(case: Case, plugin: str) -> dict[str, Any]:
    """What ``plugin`` finds out in PreScore, asked again for the feasible nodes."""
    cycle = Cycle(case.snapshot, case.pod)
    framework = case.scheduler.framework(case.pod)
    asked = next(item for item in framework.plugins("preScore") if item.name == plugin)
    asked.pre_score(cycle, case.explanation.feasible)
    return cycle.state


def _spread(case: Case, node: int, plugin: str = "PodTopologySpread") -> Arithmetic:
    result = Arithmetic(
        "", "", "Matching pods in the node's places, each place weighed by how many there are; fewer are better."
    )
    soft, labels, total = _state(case, plugin)[score_key(plugin)], case.snapshot.nodes[node].labels, 0.0
    if soft.ignored[node]:
        result.about = "The node lacks a label of a constraint, so it is not scored."
        result.computed = 0
        return result
    for constraint in soft.constraints:
        rule, value = constraint.rule, labels.get(constraint.rule.topology_key)
        if value is None:
            result.steps.append(Step(rule.topology_key, "the node has no such label", "not counted"))
            continue
        at = node if constraint.by_host else int(constraint.column.codes[node])
        count = int(constraint.counts[at])
        part = float(count) * constraint.weight + float(rule.max_skew - 1)
        total += part
        formula = f"{count} matching pods × {constraint.weight:.4f} + maxSkew {rule.max_skew} − 1"
        result.steps.append(Step(f"{rule.topology_key}={value}", formula, f"{part:.4f}"))
    result.computed = int(total + 0.5)
    result.steps.append(Step("Sum", "rounded", str(result.computed)))
    return result


def _pod_affinity(case: Case, node: int) -> Arithmetic:
    result = Arithmetic(
        "",
        "",
        "Weights of affinity less those of anti-affinity, of this pod towards pods there and of theirs towards it.",
    )
    sums = _state(case, "InterPodAffinity")[AFFINITY]
    affinities = [case.pod.pod_affinity, *(terms.affinity for terms in case.snapshot.pods.term_sets)]
    terms = [term for item in affinities for term in (*item.required, *item.preferred, *item.anti_preferred)]
    labels = case.snapshot.nodes[node].labels
    result.computed = 0
    for key in dict.fromkeys(term.topology_key for term in terms):
        part = int(sums.at_nodes(key)[node])
        result.computed += part
        place = f"{key}={labels[key]}" if key in labels else f"{key}: the node has no such label"
        result.steps.append(Step(place, "all terms that hold in this place, with their weights", f"{part:+d}"))
    result.steps.append(Step("Sum", "over the labels of the node", str(result.computed)))
    return result


WORKED: dict[str, Callable[[Case, int], Arithmetic]] = {
    "NodeResourcesFit": _fit,
    "NodeResourcesBalancedAllocation": _balanced,
    "TaintToleration": _taints,
    "NodeAffinity": _node_affinity,
    "ImageLocality": _images,
    "PodTopologySpread": _spread,
    "HkePodTopologySpread": partial(_spread, plugin="HkePodTopologySpread"),
    "InterPodAffinity": _pod_affinity,
    **LOAD_AWARE,
}
ABOUT = {
    "VolumeBinding": "Prefers storage classes and volumes that fit the claims tightest; 0 without a shape.",
    "DynamicResources": "Prefers nodes whose devices satisfy the higher-priority alternatives of the pod's claims.",
}
