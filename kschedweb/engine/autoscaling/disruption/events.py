"""What Karpenter says about nodes: the events on them, each once."""

from __future__ import annotations

from kschedweb.engine.autoscaling.cluster.nodes import Machine

BLOCKED, UNCONSOLIDATABLE = "DisruptionBlocked", "Unconsolidatable"
CANDIDATE, APPROVED = "ConsolidationCandidate", "ConsolidationApproved"


class Events:
    """Events by the name of the node. What concerns a NodeClaim without a node, or a NodePool, is not kept."""

    def __init__(self) -> None:
        self._said: dict[str, set[str]] = {}

    def say(self, machine: Machine, reason: str, message: str) -> None:
        if machine.node is not None:
            self._said.setdefault(machine.node.name, set()).add(f"{reason}: {message}")

    def by_node(self) -> dict[str, list[str]]:
        return {name: sorted(said) for name, said in self._said.items()}


def sentence(text: str) -> str:
    """A message with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]
