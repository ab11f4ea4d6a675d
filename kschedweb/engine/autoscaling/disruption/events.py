"""The events that Karpenter publishes on nodes, each once."""

from __future__ import annotations

from kschedweb.engine.autoscaling.cluster.state_nodes import StateNode

BLOCKED, UNCONSOLIDATABLE = "DisruptionBlocked", "Unconsolidatable"
CANDIDATE, APPROVED = "ConsolidationCandidate", "ConsolidationApproved"


class Events:
    """Events by node name. Events on a NodePool, or on a NodeClaim without a node, are not kept."""

    def __init__(self) -> None:
        self._messages: dict[str, set[str]] = {}

    def publish(self, machine: StateNode, reason: str, message: str) -> None:
        if machine.node is not None:
            self._messages.setdefault(machine.node.name, set()).add(f"{reason}: {message}")

    def by_node(self) -> dict[str, list[str]]:
        return {name: sorted(messages) for name, messages in self._messages.items()}


def to_sentence(text: str) -> str:
    """Capitalize the first letter of a message."""
    return text[:1].upper() + text[1:]
