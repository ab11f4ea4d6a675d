"""The arithmetic of priorities that depend on the node object alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.classic.worked import MOST, ScoreContext, Worked, scaled
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE, tolerated
from kschedweb.engine.plugins.imagelocality import LEAST, MOST_AN_IMAGE, normalized
from kschedweb.engine.releases.classic.objects import owner_uid
from kschedweb.engine.releases.classic.priorities.node import AVOIDING, signatures
from kschedweb.web.units import memory

if TYPE_CHECKING:
    from kschedweb.engine import Pod


def equal(asked: ScoreContext) -> Worked:
    return Worked("1 for every node.").unreduced(1)


def label(asked: ScoreContext) -> Worked:
    key, wanted = asked.plugin.label, asked.plugin.presence
    worked = Worked(f"10 for nodes {'with' if wanted else 'without'} the label {key}, 0 for others.")
    has = key in asked.labels
    score = MOST if has == wanted else 0
    worked.step(key, f"the node has {asked.labels[key] or 'it, empty'}" if has else "the node has no such label", score)
    return worked.unreduced(score)


def avoid(asked: ScoreContext) -> Worked:
    worked = Worked("0 where the node's annotation preferAvoidPods names the pod's controller, else 10.")
    kind = asked.case.pod.controller[1] if asked.case.pod.controller else ""
    if kind not in AVOIDING:
        worked.step("Controller", f"{kind or 'none'}: only those of {' and '.join(sorted(AVOIDING))} are avoided", MOST)
        return worked.unreduced(MOST)
    listed = signatures(asked.case.snapshot.nodes[asked.position])
    named = (kind, owner_uid(asked.case.pod)) in listed
    score = 0 if named else MOST
    worked.step("Annotation", f"names {len(listed)} controllers, {'this one too' if named else 'not this one'}", score)
    return worked.unreduced(score)


def affinity(asked: ScoreContext) -> Worked:
    worked = Worked("The weights of the pod's preferred terms of node affinity that the node meets.")
    total = 0
    for preferred in asked.case.pod.node_affinity.preferred or ():
        parts = preferred.term.labels
        holds = bool(parts) and all(part.matches(asked.labels) for part in parts)
        text = " and ".join(f"{part.key} {part.operator} {', '.join(part.values)}".strip() for part in parts)
        worked.step(
            f"Weight {preferred.weight}",
            text or "a term without labels",
            f"+{preferred.weight}" if holds else "does not match",
        )
        total += preferred.weight if holds else 0
    worked.mapped = int(np.int64(total).astype(np.int32))
    return scaled(worked, asked.mapped, reverse=False)


def taints(asked: ScoreContext) -> Worked:
    worked = Worked("Counts the node's PreferNoSchedule taints that the pod does not tolerate; fewer are better.")
    soft = [one for one in asked.case.snapshot.nodes[asked.position].taints if one.effect == PREFER_NO_SCHEDULE]
    considered = tuple(one for one in asked.case.pod.tolerations if one.effect in ("", PREFER_NO_SCHEDULE))
    missing = [one for one in soft if not tolerated(one, considered)]
    worked.step("Soft taints", ", ".join(map(str, soft)) or "none", len(soft))
    worked.step("Not tolerated", ", ".join(map(str, missing)) or "none", len(missing))
    worked.mapped = len(missing)
    return scaled(worked, asked.mapped, reverse=True)


def images(asked: ScoreContext) -> Worked:
    worked = Worked("Bytes of the pod's images on the node, each times the share of nodes that had it by then.")
    snapshot, total = asked.case.snapshot, 0
    for image in _images(asked.case.pod):
        size, holders = snapshot.images.get(normalized(image), (0, []))
        if asked.position not in holders:
            worked.step(image, "not on the node", 0)
            continue
        number = holders.index(asked.position) + 1
        part = int(float(size) * (float(number) / float(len(snapshot))))
        total += part
        worked.step(image, f"{memory(size)} × {number} of {len(snapshot)} nodes", memory(part))
    kept = min(max(total, LEAST), MOST_AN_IMAGE)
    score = MOST * (kept - LEAST) // (MOST_AN_IMAGE - LEAST)
    worked.step("Between the bounds", _bounds(kept), score)
    return worked.unreduced(score)


def plain_images(asked: ScoreContext) -> Worked:
    worked = Worked("Bytes of the pod's images on the node, by their very names: 0 below 23 MiB, then 1 to 10.")
    sizes = {name: size for names, size in asked.case.snapshot.nodes[asked.position].images for name in names}
    total = 0
    for image in _images(asked.case.pod):
        total += sizes.get(image, 0)
        worked.step(image, "on the node" if image in sizes else "not on the node", memory(sizes.get(image, 0)))
    if total < LEAST or total >= MOST_AN_IMAGE:
        score = MOST if total >= MOST_AN_IMAGE else 0
        worked.step("Score", f"{memory(total)}: {'the most' if score else 'less than 23Mi'}", score)
        return worked.unreduced(score)
    score = MOST * (total - LEAST) // (MOST_AN_IMAGE - LEAST) + 1
    worked.step("Score", f"{_bounds(total)} + 1", score)
    return worked.unreduced(score)


def _bounds(size: int) -> str:
    most, low = memory(MOST_AN_IMAGE), memory(LEAST)
    return f"{MOST} × ({memory(size)} − {low}) ÷ ({most} − {low}), cut to a whole number"


def _images(pod: Pod) -> list[str]:
    """The images of the pod's containers, without init containers."""
    return [str(raw.get("image") or "") for raw in (pod.raw.get("spec") or {}).get("containers") or []]
