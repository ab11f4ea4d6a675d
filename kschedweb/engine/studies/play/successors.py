"""Pods that take one another's place: what a controller put in the place of an evicted pod, and in that one's place."""

from __future__ import annotations

from kschedweb.engine.state.columns import Mask
from kschedweb.engine.studies.play.outcome import RunOutcome


def latest_rows(outcome: RunOutcome) -> dict[str, int]:
    """The row of the pod that came last in a place, by the name of the first one there.

    A pod whose place nobody took stands for itself. The last one counts if several pods had the first one's name.
    """
    firsts = outcome.first.tolist() or range(len(outcome.pods))
    rows = {first: row for row, first in enumerate(firsts)}
    return {outcome.pods[first]: row for first, row in rows.items()}


def last_node(outcome: RunOutcome, row: int) -> str:
    """The last node of the pod in ``row``, "" for none."""
    node = int(outcome.node[row])
    return outcome.nodes[node] if node >= 0 else ""


def scheduled_for(outcome: RunOutcome) -> Mask:
    """The pods that somebody had to find a node for: tried at least once, or waiting at the end. Shape [pods]."""
    scheduled: Mask = outcome.attempts > 0
    scheduled[outcome.pending] = True
    return scheduled
