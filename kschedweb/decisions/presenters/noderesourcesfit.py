"""NodeResourcesFit: resources that a node lacks, and how its use is scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, args_of, instance
from kschedweb.decisions.words import Reading, Shortage, of
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.noderesourcesfit import LEAST, MOST, PODS, RATIO, NodeResourcesFit, requested_after
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Fit(Presenter):
    missing = "It does not look at use."
    short = {PODS: "has no room for another pod"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        name = snapshot.names[node]
        texts, remedies = [], []
        if PODS in status.about:
            texts.append(f"{name} runs {snapshot.pod_count[node]} of at most {snapshot.pod_limit[node]} pods")
            remedies.append("a pod leaving it would make room")
        for short in shortages(snapshot, pod, node):
            if short.resource not in status.about:
                continue
            what, free = of(short.resource), amount(max(short.free, 0), short.resource)
            over = "" if short.free >= 0 else ", it is overcommitted"
            texts.append(
                f"needs {amount(short.asked, short.resource)}{what}, {name} has {free}{what} free"
                f" of {amount(short.allocatable, short.resource)}{over}: {short} short"
            )
            if short.asked > short.allocatable:
                remedies.append(f"the node is too small at all: ask for less {short.resource} or add larger nodes")
            else:
                remedies.append(f"freeing {short} there, or asking for as much less, would do")
        return Reading("; ".join(texts) or status.message, "; ".join(dict.fromkeys(remedies)))

    def in_short(self, pod: Pod, reason: str, about: Any) -> str:
        if about is None or about in self.short:
            return super().in_short(pod, reason, about)
        return f"has less than {amount(pod.requests.get(about, 0), about)}{of(about)} free"

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: NodeResourcesFit = instance(case, self.plugin)
        result.about = (
            f"Strategy {plugin.strategy}: the weighted mean over the resources below, with the pod on the node."
        )
        cycle, rows = Cycle(case.snapshot, case.pod), np.array([node])
        parts: list[tuple[int, int]] = []
        for name, weight in plugin.resources:
            after, allocatable = requested_after(cycle, rows, name)
            if not allocatable[0]:
                result.steps.append(Step(name, "the node or the pod has none of it", "not counted"))
                continue
            score = int(plugin.part(after, allocatable)[0])
            asked = case.pod.scoring_requests.get(name, 0)
            used, size = int(after[0]) - asked, int(allocatable[0])
            formula = _formula(case, plugin.strategy, used + asked, size)
            shown = f"requested {amount(used, name)} + {amount(asked, name)} of {amount(size, name)}: {formula}"
            result.steps.append(Step(f"{name}, weight {weight}", shown, str(score)))
            if plugin.strategy != RATIO or score > 0:
                parts.append((score, weight))
        result.computed = int(plugin.score(cycle, rows)[0])
        if weights := sum(weight for _, weight in parts):
            listed = " + ".join(f"{score} × {weight}" for score, weight in parts)
            rounding = "rounded" if plugin.strategy == RATIO else "rounded down"
            result.steps.append(Step("Mean", f"({listed}) ÷ {weights}, {rounding}", str(result.computed)))


def _formula(case: Case, strategy: str, after: int, size: int) -> str:
    if strategy == LEAST:
        return "more than there is" if after > size else f"({size} − {after}) × 100 ÷ {size}"
    if strategy == MOST:
        return f"{min(after, size)} × 100 ÷ {size}"
    ratio = args_of(case, "NodeResourcesFit")["scoringStrategy"].get("requestedToCapacityRatio") or {}
    points = ", ".join(f"{point['utilization']} % → {point['score']}" for point in ratio.get("shape") or [])
    return f"{min(after, size) * 100 // size} % on the line {points} (scores × 10)"


def shortages(snapshot: EngineSnapshot, pod: Pod, node: int) -> list[Shortage]:
    """The resources of which the node at a position has too little for ``pod``, worst first."""
    found = []
    for resource, asked in pod.requests.items():
        column = snapshot.resources.get(resource)
        allocatable = int(snapshot.allocatable[column, node]) if column is not None else 0
        used = int(snapshot.requested[column, node]) if column is not None else 0
        if asked > 0 and asked > allocatable - used:
            found.append(Shortage(resource, asked, allocatable - used, allocatable))
    return sorted(found, key=lambda item: -item.missing / item.asked)


PRESENTER = Fit("NodeResourcesFit")
