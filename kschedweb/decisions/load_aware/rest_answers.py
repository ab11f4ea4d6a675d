"""Load-aware policies on the nodes of a cluster as REST represents them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions import figures_in_force
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.decisions.load_aware.contest import Contest, Entrant


def contest_to_json(contest: Contest) -> Json:
    """Return every policy's scores, winner and rejections."""
    return {
        "pod": contest.pod,
        "watermarks": figures_in_force.in_force_to_json(contest.in_force),
        "policies": [_entrant_to_json(entrant, contest.names) for entrant in contest.entrants],
    }


def _entrant_to_json(entrant: Entrant, names: list[str]) -> Json:
    explanation, runner_up = entrant.explanation, entrant.runner_up
    scores, rejected = {}, {}
    if explanation is not None:
        scores = {
            names[node]: int(score)
            for node, score in zip(explanation.feasible.tolist(), explanation.total, strict=True)
        }
        for node in (number for number, by in enumerate(explanation.rejected_by.tolist()) if by != -1):
            status = explanation.verdict_at(node)
            rejected[names[node]] = status.message if status else ""
    return {
        "name": entrant.side.key,
        "plugin": entrant.side.plugin,
        "title": entrant.side.label,
        "comparison": entrant.side.reference,
        "winner": entrant.winner,
        "score": entrant.top,
        "runner_up": runner_up[0] if runner_up else "",
        "margin": runner_up[1] if runner_up else None,
        "words": entrant.words,
        "scores": scores,
        "rejected": rejected,
    }
