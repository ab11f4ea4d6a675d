"""What can only be explained at the moment of a decision, for people who read it later: how the scores of the best
nodes came about, and in plain words why the pod does not fit the nodes that lack least.

Both are kept as they are shown, since the cluster changes a moment later.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import structlog

from kschedweb.decisions.case import Case
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.parts import Arithmetic, Figure, Miss, Step
from kschedweb.decisions.presenters.podtopologyspread import forget
from kschedweb.decisions.words import Reading

if TYPE_CHECKING:
    from kschedweb.engine.live import JudgedPod

logger = structlog.get_logger(__name__)

BEST = 5  # nodes whose scores are worked out
NEAREST = 20  # rejected nodes that are put in plain words
MISSES = 500  # rejected nodes among which the nearest miss is looked for


@dataclass(frozen=True)
class Insight:
    """``sentence`` and ``miss`` of a pod that found no node; ``readings`` and ``worked`` by node, then by plugin."""

    sentence: str = ""
    miss: Miss | None = None
    readings: dict[str, dict[str, Reading]] = field(default_factory=dict)
    worked: dict[str, dict[str, Arithmetic]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, data: dict[str, Any]) -> Insight:
        """Read what ``to_dict`` gave."""
        miss = data["miss"]
        return cls(
            data["sentence"],
            None if miss is None else Miss(miss["node"], Reading(**miss["reading"]), miss["text"]),
            {node: {plugin: Reading(**one) for plugin, one in said.items()} for node, said in data["readings"].items()},
            {
                node: {plugin: _arithmetic(one) for plugin, one in found.items()}
                for node, found in data["worked"].items()
            },
        )


def of(judged: JudgedPod, node: str = "") -> Insight:
    """The insight into a pod that was judged just now and went to ``node``; empty where it fails, since the decision
    itself stands.
    """
    decision = Decision(Case(judged.snapshot, judged.pod, judged.scheduler, judged.explanation, ""))
    try:
        return _insight(decision, node)
    except Exception:
        logger.exception("live_insight_failed", pod=judged.pod.key)
        return Insight()
    finally:
        forget()  # the snapshot goes on changing


def _insight(decision: Decision, chosen: str) -> Insight:
    found = decision.explanation
    readings = {found.nodes[node]: _readings(decision, node) for node in _nearest(decision)}
    if not found.feasible.size:
        return Insight(decision.answer().title, decision.nearest_miss(MISSES), readings)
    best = [found.nodes[node] for node in found.feasible[decision.order[:BEST]]]
    at = decision.case.snapshot.index
    if chosen in at and chosen not in best:
        best.append(chosen)  # of many nodes with the same total
    worked = {
        node: {column.plugin: decision.worked(at[node], column.plugin) for column in found.scores} for node in best
    }
    return Insight("", None, readings, worked)


def _nearest(decision: Decision) -> list[int]:
    """The nodes that the fewest filters reject, in their order."""
    found = decision.explanation
    rejected = np.flatnonzero(found.rejected_by >= 0)
    if not rejected.size:
        return []
    against = sum((column.codes[rejected] != 0).astype(np.int32) for column in found.filters)
    nearest: list[int] = rejected[np.argsort(against, kind="stable")[:NEAREST]].tolist()
    return nearest


def _readings(decision: Decision, node: int) -> dict[str, Reading]:
    failing = [
        column.verdicts[int(column.codes[node])] for column in decision.explanation.filters if column.codes[node]
    ]
    return {status.plugin: decision.read(node, status) for status in failing}


def _arithmetic(data: dict[str, Any]) -> Arithmetic:
    steps = [Step(**step) for step in data["steps"]]
    figures = [Figure(**figure) for figure in data["figures"]]
    return Arithmetic(**(data | {"steps": steps, "figures": figures}))
