"""The arithmetic of priorities that depend only on the node object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.classic.calculation import MAX_PRIORITY, ScoreCalculation, ScoreContext, normalize_reduce
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE, is_tolerated
from kschedweb.engine.plugins.imagelocality import MIN_THRESHOLD, MOST_AN_IMAGE, normalized_image_name
from kschedweb.engine.releases.classic.objects import owner_uid
from kschedweb.engine.releases.classic.priorities.node import AVOIDING, read_avoided_controllers
from kschedweb.web.units import format_memory

if TYPE_CHECKING:
    from kschedweb.engine import Pod


def explain_equal(context: ScoreContext) -> ScoreCalculation:
    return ScoreCalculation("1 for every node.").with_score(1)


def explain_node_label(context: ScoreContext) -> ScoreCalculation:
    key, presence = context.plugin.label, context.plugin.presence
    calculation = ScoreCalculation(f"10 for nodes {'with' if presence else 'without'} the label {key}, 0 for others.")
    has = key in context.labels
    score = MAX_PRIORITY if has == presence else 0
    calculation.add_step(
        key, f"the node has {context.labels[key] or 'it, empty'}" if has else "the node has no such label", score
    )
    return calculation.with_score(score)


def explain_prefer_avoid_pods(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation("0 where the node's annotation preferAvoidPods names the pod's controller, else 10.")
    kind = context.case.pod.controller[1] if context.case.pod.controller else ""
    if kind not in AVOIDING:
        calculation.add_step(
            "Controller", f"{kind or 'none'}: only those of {' and '.join(sorted(AVOIDING))} are avoided", MAX_PRIORITY
        )
        return calculation.with_score(MAX_PRIORITY)
    listed = read_avoided_controllers(context.case.snapshot.nodes[context.position])
    is_named = (kind, owner_uid(context.case.pod)) in listed
    score = 0 if is_named else MAX_PRIORITY
    calculation.add_step(
        "Annotation", f"names {len(listed)} controllers, {'this one too' if is_named else 'not this one'}", score
    )
    return calculation.with_score(score)


def explain_node_affinity(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation("The weights of the pod's preferred terms of node affinity that the node meets.")
    total = 0
    for preferred in context.case.pod.node_affinity.preferred or ():
        parts = preferred.term.labels
        holds = bool(parts) and all(part.matches(context.labels) for part in parts)
        text = " and ".join(f"{part.key} {part.operator} {', '.join(part.values)}".strip() for part in parts)
        calculation.add_step(
            f"Weight {preferred.weight}",
            text or "a term without labels",
            f"+{preferred.weight}" if holds else "does not match",
        )
        total += preferred.weight if holds else 0
    # As Go converts the sum to int32, which wraps around.
    calculation.mapped = int(np.int64(total).astype(np.int32))
    return normalize_reduce(calculation, context.mapped, reverse=False)


def explain_taint_toleration(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation(
        "Counts the node's PreferNoSchedule taints that the pod does not tolerate; fewer are better."
    )
    soft = [
        taint for taint in context.case.snapshot.nodes[context.position].taints if taint.effect == PREFER_NO_SCHEDULE
    ]
    considered = tuple(
        toleration for toleration in context.case.pod.tolerations if toleration.effect in ("", PREFER_NO_SCHEDULE)
    )
    missing = [taint for taint in soft if not is_tolerated(taint, considered)]
    calculation.add_step("Soft taints", ", ".join(map(str, soft)) or "none", len(soft))
    calculation.add_step("Not tolerated", ", ".join(map(str, missing)) or "none", len(missing))
    calculation.mapped = len(missing)
    return normalize_reduce(calculation, context.mapped, reverse=True)


def explain_image_locality(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation(
        "Bytes of the pod's images on the node, each times the share of nodes that had it by then."
    )
    snapshot, total = context.case.snapshot, 0
    for image in _list_images(context.case.pod):
        size, holders = snapshot.images.get(normalized_image_name(image), (0, []))
        if context.position not in holders:
            calculation.add_step(image, "not on the node", 0)
            continue
        # The engine numbers the holders of an image as they are counted, and so does 1.13's cache.
        number = holders.index(context.position) + 1
        # The order of these float operations is Go's: another order rounds differently.
        part = int(float(size) * (float(number) / float(len(snapshot))))
        total += part
        calculation.add_step(image, f"{format_memory(size)} × {number} of {len(snapshot)} nodes", format_memory(part))
    clamped = min(max(total, MIN_THRESHOLD), MOST_AN_IMAGE)
    score = MAX_PRIORITY * (clamped - MIN_THRESHOLD) // (MOST_AN_IMAGE - MIN_THRESHOLD)
    calculation.add_step("Between the bounds", _format_bounds(clamped), score)
    return calculation.with_score(score)


def explain_plain_image_locality(context: ScoreContext) -> ScoreCalculation:
    calculation = ScoreCalculation(
        "Bytes of the pod's images on the node, by their very names: 0 below 23 MiB, then 1 to 10."
    )
    sizes = {name: size for names, size in context.case.snapshot.nodes[context.position].images for name in names}
    total = 0
    for image in _list_images(context.case.pod):
        total += sizes.get(image, 0)
        calculation.add_step(
            image, "on the node" if image in sizes else "not on the node", format_memory(sizes.get(image, 0))
        )
    if total < MIN_THRESHOLD or total >= MOST_AN_IMAGE:
        score = MAX_PRIORITY if total >= MOST_AN_IMAGE else 0
        calculation.add_step("Score", f"{format_memory(total)}: {'the most' if score else 'less than 23Mi'}", score)
        return calculation.with_score(score)
    score = MAX_PRIORITY * (total - MIN_THRESHOLD) // (MOST_AN_IMAGE - MIN_THRESHOLD) + 1
    calculation.add_step("Score", f"{_format_bounds(total)} + 1", score)
    return calculation.with_score(score)


def _format_bounds(size: int) -> str:
    high, low = format_memory(MOST_AN_IMAGE), format_memory(MIN_THRESHOLD)
    return f"{MAX_PRIORITY} × ({format_memory(size)} − {low}) ÷ ({high} − {low}), cut to a whole number"


def _list_images(pod: Pod) -> list[str]:
    """The images of the pod's containers, without init containers."""
    return [str(raw.get("image") or "") for raw in (pod.raw.get("spec") or {}).get("containers") or []]
