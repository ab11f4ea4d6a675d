"""What Karpenter says about nodes: the events on them, each once."""

from __future__ import annotations

from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode

BLOCKED, UNCONSOLIDATABLE = "DisruptionBlocked", "Unconsolidatable"
CANDIDATE, APPROVED = "ConsolidationCandidate", "ConsolidationApproved"


class Events:
    """Events by the name of the node. What concerns a NodeClaim without a node, or a NodePool, is not kept."""

    def __init__(self) -> None:
        self._messages: dict[str, set[str]] = {}

    def publish(self, machine: StateNode, reason: str, message: str) -> None:
        if machine.node is not None:
            self._messages.setdefault(machine.node.name, set()).add(f"{reason}: {message}")

    def by_node(self) -> dict[str, list[str]]:
        return {name: sorted(messages) for name, messages in self._messages.items()}


def to_sentence(text: str) -> str:
    """A message with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]
