"""All load-aware policies on the nodes of one cluster for one pod: the scores of each, and the winners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
from django.utils.translation import gettext, ngettext

from kschedweb.decisions import services
from kschedweb.decisions.decision import Decision
from kschedweb.decisions.figures_in_force import FiguresInForce, in_force
from kschedweb.decisions.kept import explanation_bytes, insight
from kschedweb.decisions.kept.insight import KeptMatrix
from kschedweb.decisions.snapshots import engine_snapshot
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.case import Case
    from kschedweb.decisions.kept.insight import Insight
    from kschedweb.decisions.load_aware.sides import ScoringSide
    from kschedweb.decisions.page_parts import Arithmetic
    from kschedweb.engine import Explanation

# Columns of the table: resource and window.
USE = (("cpu", "15m"), ("memory", "15m"))


@dataclass(frozen=True)
class Entrant:
    """The answer of one side."""

    side: ScoringSide
    # None if the scheduling cycle fails; ``error`` says why.
    explanation: Explanation | None
    # The source of the arithmetic: the case itself, or the insight that was stored of it.
    case: Case | None = None
    insight: Insight | None = None
    error: str = ""

    def find_arithmetic(self, node: str) -> Arithmetic | None:
        """Return the arithmetic of the score of ``node``, None if there is no such node."""
        if self.case is not None:
            position = self.case.snapshot.index.get(node)
            return None if position is None else Decision(self.case).compute_arithmetic(position, self.side.plugin)
        if self.explanation is None or self.insight is None or node not in self.explanation.nodes:
            return None
        return KeptMatrix(self.explanation, self.insight).find_arithmetic(node, self.side.plugin)

    @property
    def winner(self) -> str:
        """Return the node that gets the pod; "" if there is none, or if every node has the same score."""
        explanation = self.explanation
        return (
            ""
            if explanation is None or explanation.chosen is None or self.is_undecided
            else explanation.nodes[explanation.chosen]
        )

    @property
    def is_undecided(self) -> bool:
        """True if there are several feasible nodes and all have the same score."""
        explanation = self.explanation
        return (
            explanation is not None
            and len(explanation.feasible) > 1
            and len(explanation.best) == len(explanation.feasible)
        )

    @property
    def top(self) -> int | None:
        explanation = self.explanation
        return int(explanation.total.max()) if explanation is not None and explanation.total.size else None

    @property
    def runner_up(self) -> tuple[str, int] | None:
        """Return the second node and its distance, None with fewer than two feasible nodes."""
        explanation = self.explanation
        if explanation is None or len(explanation.feasible) < 2:
            return None
        first, second = np.argsort(-explanation.total, kind="stable")[:2]
        return explanation.nodes[int(explanation.feasible[second])], int(
            explanation.total[first] - explanation.total[second]
        )

    @property
    def shared(self) -> int:
        """Return the number of nodes with the highest score."""
        explanation = self.explanation
        return len(explanation.best) if explanation is not None else 0

    @property
    def words(self) -> str:
        """Return one sentence that says which node wins, and by how much."""
        explanation = self.explanation
        if explanation is None:
            return gettext("It cannot be scheduled: %(error)s") % {"error": self.error}
        if explanation.chosen is None:
            return explanation.message or explanation.pre_enqueue.message or gettext("no node fits")
        if self.is_undecided:
            return gettext("all %(nodes)s score %(score)s, so it does not decide") % {
                "nodes": format_count(len(explanation.feasible), "feasible nodes"), "score": self.top,
            }  # fmt: skip
        parameters = {"node": self.winner, "score": self.top, "others": format_count(self.shared - 1, "other nodes")}
        if self.shared > 1:
            return gettext("%(node)s scores %(score)s, as do %(others)s") % parameters
        runner_up = self.runner_up
        if runner_up is None:
            return gettext("%(node)s is the only node that can run it") % parameters
        parameters["second"], parameters["ahead"] = runner_up
        return gettext("%(node)s scores %(score)s, %(ahead)s ahead of %(second)s") % parameters


@dataclass(frozen=True)
class ScoreMark:
    """One side's score on one node."""

    side: ScoringSide
    # None if the node is rejected; ``reason`` says why.
    score: int | None
    best: bool
    # The step of the cell's colour, 0 to 6.
    tint: int
    reason: str = ""


@dataclass(frozen=True)
class NodeMarks:
    """One node with every side's mark."""

    node: str
    # Percent of allocatable, None if not known, in the order of ``USE``.
    use: list[float | None]
    marks: list[ScoreMark]

    @property
    def link(self) -> str:
        return quote(self.node, safe="")

    @property
    def wins(self) -> int:
        return sum(mark.best for mark in self.marks)


@dataclass(frozen=True)
class Contest:
    """The nodes of a snapshot under every side, for one pod."""

    # Namespace and name, with a slash between them.
    pod: str
    entrants: list[Entrant]
    names: list[str]
    # Percent of allocatable by node, in the order of ``USE``; NaN if not known.
    use: list[NDArray[np.float64]]
    in_force: FiguresInForce

    def order_nodes(self, by: str) -> list[int]:
        """Return the positions of the nodes by the score of side ``by``, by "node", else by CPU use, highest first.

        By default, nodes without any score come last.
        """
        everyone = range(len(self.names))
        if by == "node":
            return sorted(everyone, key=lambda node: self.names[node])
        entrant = next((item for item in self.entrants if item.side.key == by and item.explanation is not None), None)
        if entrant is not None and entrant.explanation is not None:
            explanation = entrant.explanation
            scores = dict(zip(explanation.feasible.tolist(), explanation.total.tolist(), strict=True))
            return sorted(everyone, key=lambda node: (-scores.get(node, -1), self.names[node]))
        cpu = np.nan_to_num(self.use[0], nan=-1.0)
        scored = {
            node for entrant in self.entrants if entrant.explanation for node in entrant.explanation.feasible.tolist()
        }
        return sorted(everyone, key=lambda node: (node not in scored, -cpu[node], self.names[node]))

    def node_rows(self, nodes: Sequence[int]) -> list[NodeMarks]:
        """Return the rows of the table for the nodes at these positions."""
        columns = [self._build_marks(entrant, nodes) for entrant in self.entrants]
        return [
            NodeMarks(
                self.names[node],
                [None if np.isnan(column[node]) else float(column[node]) for column in self.use],
                [column[index] for column in columns],
            )
            for index, node in enumerate(nodes)
        ]

    @staticmethod
    def _build_marks(entrant: Entrant, nodes: Sequence[int]) -> list[ScoreMark]:
        explanation = entrant.explanation
        if explanation is None:
            return [ScoreMark(entrant.side, None, False, 0, entrant.error) for _ in nodes]
        place = {node: index for index, node in enumerate(explanation.feasible.tolist())}
        # A tie of all nodes has no winner.
        best = set() if entrant.is_undecided else set(explanation.best)
        marks = []
        for node in nodes:
            if (index := place.get(node)) is None:
                status = explanation.verdict_at(node) if len(explanation.rejected_by) else explanation.pre_enqueue
                marks.append(ScoreMark(entrant.side, None, False, 0, status.message if status else "not scored"))
                continue
            score = int(explanation.total[index])
            marks.append(ScoreMark(entrant.side, score, node in best, min(6, score * 7 // 101)))
        return marks

    @property
    def votes(self) -> list[tuple[str, int]]:
        """Return the nodes that policies choose, with the number of policies; reference sides do not count."""
        counts: dict[str, int] = {}
        for entrant in self.entrants:
            if entrant.winner and not entrant.side.reference:
                counts[entrant.winner] = counts.get(entrant.winner, 0) + 1
        return sorted(counts.items(), key=lambda item: (-item[1], item[0]))

    @property
    def title(self) -> str:
        """Return the answer in one sentence."""
        policies = [entrant for entrant in self.entrants if not entrant.side.reference]
        name = self.pod.partition("/")[2]
        if not self.votes:
            return gettext("None of %(policies)s policies prefers a node for %(pod)s") % {
                "policies": len(policies), "pod": name,
            }  # fmt: skip
        node, number = self.votes[0]
        parameters = {"number": number, "policies": len(policies), "pod": name, "node": node}
        if number == len(policies):
            return gettext("All %(number)s policies put %(pod)s on %(node)s") % parameters
        parameters["others"] = format_count(len(self.votes) - 1, "other nodes")
        if len(self.votes) > 1:
            return ngettext(
                "%(number)s of %(policies)s policies chooses %(node)s for %(pod)s; the others choose %(others)s",
                "%(number)s of %(policies)s policies choose %(node)s for %(pod)s; the others choose %(others)s",
                number,
            ) % parameters  # fmt: skip
        return ngettext(
            "%(number)s of %(policies)s policies chooses %(node)s for %(pod)s",
            "%(number)s of %(policies)s policies choose %(node)s for %(pod)s",
            number,
        ) % parameters  # fmt: skip

    def find_arithmetic(self, node: str, key: str) -> Arithmetic | None:
        """Return the arithmetic of ``node`` under the side ``key``, None if there is no such cell."""
        entrant = next((item for item in self.entrants if item.side.key == key), None)
        return None if entrant is None else entrant.find_arithmetic(node)

    def pack(self) -> tuple[Json, bytes]:
        """Return the contest as plain data and bytes, for ``unpack``."""
        packed = [
            b""
            if entrant.case is None
            else explanation_bytes.pack_explanation(
                entrant.case.explanation, insight.build_insight(Decision(entrant.case))
            )
            for entrant in self.entrants
        ]
        entrants = [
            {"key": entrant.side.key, "error": entrant.error, "size": len(bytes_)}
            for entrant, bytes_ in zip(self.entrants, packed, strict=True)
        ]
        use = [[None if np.isnan(percent) else percent for percent in column.tolist()] for column in self.use]
        plain = {"pod": self.pod, "entrants": entrants, "names": self.names, "use": use}
        return plain | {"in_force": asdict(self.in_force)}, b"".join(packed)

    @classmethod
    def unpack(cls, data: Json, packed: bytes, sides: Sequence[ScoringSide]) -> Contest:
        """Read what ``pack`` returned; ``sides`` are those of the same revision."""
        by_key, remaining, entrants = {side.key: side for side in sides}, packed, []
        for raw in data["entrants"]:
            head, remaining = remaining[: raw["size"]], remaining[raw["size"] :]
            explanation, kept_insight = explanation_bytes.unpack_explanation(head) if head else (None, None)
            entrants.append(Entrant(by_key[raw["key"]], explanation, insight=kept_insight, error=raw["error"]))
        use = [np.array(column, dtype=np.float64) for column in data["use"]]
        return cls(data["pod"], entrants, data["names"], use, FiguresInForce(**data["in_force"]))


def run_contest(snapshot: Snapshot, pod_key: str, sides: Sequence[ScoringSide]) -> Contest:
    """Explain ``pod_key`` ("namespace/name") under every side. Raises NotFound if the snapshot has no such pod."""
    engine = engine_snapshot(snapshot)
    entrants = []
    for side in sides:
        try:
            case = services.side_case(snapshot, pod_key, side)
            entrants.append(Entrant(side, case.explanation, case))
        except NotFound:
            raise
        except ApplicationError as error:
            entrants.append(Entrant(side, None, error=error.detail))
    watermarks = engine.watermarks
    unknown = np.full(len(engine), np.nan)
    use = [unknown if watermarks is None else watermarks.column(*key) for key in USE]
    return Contest(pod_key, entrants, engine.names, use, in_force(engine, snapshot))
