"""Two policies about one pod: the winner of each, with its rank and its share of the maximum under both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.page_parts import Place
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.decisions.matrix.matrix import Matrix


@dataclass(frozen=True)
class Winner:
    """A node that a policy chooses, with its places under both policies."""

    node: str
    # True if this policy, or the other one, chooses it.
    chosen: bool
    chosen_there: bool
    # None if the node is rejected.
    place: Place | None
    there: Place | None


@dataclass(frozen=True)
class PolicyComparison:
    """``policy`` compared with ``other``."""

    policy: str
    other: str
    # The other policy's answer in a sentence, or its error.
    title: str
    winners: tuple[Winner, ...] = ()
    # True if one is a classic policy and the other is not: their totals have different scales.
    mixed: bool = False

    @property
    def same(self) -> bool:
        """True if both choose the same node."""
        return len(self.winners) == 1 and self.winners[0].chosen and self.winners[0].chosen_there

    @classmethod
    def from_dict(cls, data: Json) -> PolicyComparison:
        """Read what ``asdict`` returned, after a round trip through JSON."""
        winners = tuple(
            Winner(**winner | {key: winner[key] and Place(**winner[key]) for key in ("place", "there")})
            for winner in data.get("winners", ())
        )
        return cls(**data | {"winners": winners})


def compare_policies(matrix: Matrix, policy: str, other: str, title: str) -> PolicyComparison:
    """Compare the explanation of ``matrix`` with its other one."""
    assert matrix.other is not None
    own_node, other_node = matrix.explanation.node, matrix.other.explanation.node
    winners = tuple(
        Winner(
            node,
            node == own_node,
            node == other_node,
            matrix.ranking.place_by_name(node),
            matrix.other.place_by_name(node),
        )
        for node in dict.fromkeys((own_node, other_node))
        if node
    )
    return PolicyComparison(policy, other, title, winners, matrix.scale != matrix.other.explanation.scale)
