"""Follow chains of replacements: the pods that controllers put in the place of evicted ones."""

from __future__ import annotations

from kschedweb.engine.state.columns import Mask
from kschedweb.engine.studies.play.outcome import RunOutcome


def latest_rows(outcome: RunOutcome) -> dict[str, int]:
    """Return the row of the last replacement of each pod, by the name of the first pod of the chain.

    A pod that was not replaced stands for itself. If several first pods have one name, the last one counts.
    """
    firsts = outcome.first.tolist() or range(len(outcome.pods))
    rows = {first: row for row, first in enumerate(firsts)}
    return {outcome.pods[first]: row for first, row in rows.items()}


def last_node(outcome: RunOutcome, row: int) -> str:
    """Return the last node of the pod in ``row``, "" for none."""
    node = int(outcome.node[row])
    return outcome.nodes[node] if node >= 0 else ""


def handled_by_scheduler(outcome: RunOutcome) -> Mask:
    """Return the pods that the scheduler dealt with: tried at least once, or waiting at the end. Shape [pods]."""
    scheduled: Mask = outcome.attempts > 0
    scheduled[outcome.pending] = True
    return scheduled
