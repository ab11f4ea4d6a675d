"""Two policies about one pod: the winner of each, with its rank and its share of the maximum under both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.parts import Place

if TYPE_CHECKING:
    from kschedweb.decisions.matrix.matrix import Matrix


@dataclass(frozen=True)
class Winner:
    """A node that a policy chooses; a place is ``None`` where the node is rejected."""

    node: str
    chosen: bool
    chosen_there: bool
    place: Place | None
    there: Place | None


@dataclass(frozen=True)
class Comparison:
    """``policy`` against ``other``, whose answer is ``title``; ``mixed`` if one is a classic policy and one is not."""

    policy: str
    other: str
    title: str
    winners: tuple[Winner, ...] = ()
    mixed: bool = False

    @property
    def same(self) -> bool:
        """Whether both choose the same node."""
        return len(self.winners) == 1 and self.winners[0].chosen and self.winners[0].chosen_there

    @classmethod
    def read(cls, data: dict[str, Any]) -> Comparison:
        """Read what ``asdict`` gave, as JSON keeps it."""
        winners = tuple(
            Winner(**one | {key: one[key] and Place(**one[key]) for key in ("place", "there")})
            for one in data.get("winners", ())
        )
        return cls(**data | {"winners": winners})


def compare(matrix: Matrix, policy: str, other: str, title: str) -> Comparison:
    """Compare the explanation of ``matrix`` with its other one."""
    assert matrix.other is not None
    here, there = matrix.explanation.node, matrix.other.explanation.node
    winners = tuple(
        Winner(node, node == here, node == there, matrix.ranking.at(node), matrix.other.at(node))
        for node in dict.fromkeys((here, there))
        if node
    )
    return Comparison(policy, other, title, winners, matrix.scale != matrix.other.explanation.scale)
