"""What REST tells of load-aware policies on the nodes of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kschedweb.decisions import utilisation

if TYPE_CHECKING:
    from kschedweb.decisions.load_aware.contest import Contest, Entrant


def contest(found: Contest) -> dict[str, Any]:
    """Every policy's scores, winner and rejections."""
    return {
        "pod": found.pod,
        "watermarks": utilisation.told(found.in_force),
        "policies": [_entrant(entrant, found.names) for entrant in found.entrants],
    }


def _entrant(entrant: Entrant, names: list[str]) -> dict[str, Any]:
    found, runner_up = entrant.explanation, entrant.runner_up
    scores, rejected = {}, {}
    if found is not None:
        scores = {names[node]: int(score) for node, score in zip(found.feasible.tolist(), found.total, strict=True)}
        for node in (number for number, by in enumerate(found.rejected_by.tolist()) if by != -1):
            status = found.verdict_at(node)
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
