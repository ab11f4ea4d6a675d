"""Lists of the pods that move or fit on one side only, and of the rules that cause it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.comparison import MoveVerdict, RuleKind, RuleSide
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS
from kschedweb.playground.migration.sentences import VERDICTS, rule_name, rule_words
from kschedweb.playground.runs.rows import LazyRows, sort_rows
from kschedweb.web.units import format_count

ORDERS = ("pod", "verdict", "bound", "classic", "profile", "rule", "share")
# Filters that let every pod through.
ANY = {"verdict": "", "rule": "", "search": ""}
WORDS = {
    MoveVerdict.MOVES: "moves",
    MoveVerdict.ONLY_CLASSIC: "fits only under the classic policy",
    MoveVerdict.ONLY_PROFILE: "fits only under the profile",
}
# Verdicts by which a pod is listed.
DIFFER = tuple(WORDS)


@dataclass(frozen=True)
class MovedPod:
    """A pod whose placement differs."""

    # Plain data of ``engine.releases.classic.comparing.PodMove``.
    raw: Json

    @property
    def pod(self) -> str:
        return str(self.raw["pod"])

    @property
    def namespace(self) -> str:
        return self.pod.partition("/")[0]

    @property
    def name(self) -> str:
        return self.pod.partition("/")[2]

    @property
    def words(self) -> str:
        return WORDS[self.raw["verdict"]]

    @property
    def rule(self) -> str:
        return rule_name(self.raw["rule"])

    @property
    def why(self) -> str:
        """The effect of the rule, with its lead or its message."""
        rule = self.raw["rule"]
        if rule["kind"] != RuleKind.PREFERS:
            return str(rule["reason"])
        return f"{format_count(rule['lead'], 'points')} ahead, {100 * rule['share']:.0f} % of the span"


class MovedPods(LazyRows[MovedPod]):
    """The moved pods that match ``filters``: verdict, rule (its ``rule_key``) and search ("": any).

    ``ordering`` is one of ORDERS, descending after a "-"; the default is the order of the answer.
    """

    def __init__(self, differing: Sequence[Json], filters: dict[str, str], ordering: str = "") -> None:
        self.rows = [
            move
            for move in differing
            if filters["verdict"] in ("", move["verdict"])
            and filters["rule"] in ("", rule_key(move["rule"]))
            and filters["search"] in move["pod"]
        ]
        if (by := ordering.removeprefix("-")) in ORDERS:
            self.rows = sort_rows(self.rows, lambda move: _sort_key(move, by), down=ordering.startswith("-"))

    def row(self, record: Json) -> MovedPod:
        return MovedPod(record)


def _sort_key(move: Json, by: str) -> Any:
    if by == "rule":
        return rule_name(move["rule"]).lower()
    return move["rule"]["share"] if by == "share" else move["boundTo"] if by == "bound" else move[by]


def rule_key(rule: Json) -> str:
    """Return the name of a rule in an address."""
    return f"{rule['side']}:{rule['kind']}:{rule['name']}"


@dataclass(frozen=True)
class MovedByRule:
    """The number of pods that a rule moves, or keeps from fitting on its side."""

    # The rule as plain data, with its numbers of pods and of moves.
    raw: Json

    @property
    def key(self) -> str:
        return rule_key(self.raw)

    @property
    def name(self) -> str:
        return rule_name(self.raw)

    @property
    def words(self) -> str:
        return rule_words(self.raw)

    @property
    def explained(self) -> bool:
        """True if there is a page about the rule."""
        return self.raw["side"] == RuleSide.CLASSIC and self.name in DESCRIPTIONS

    @property
    def only(self) -> int:
        return int(self.raw["pods"] - self.raw["moves"])


def moved_by_rule(counts: Json) -> list[MovedByRule]:
    """Return the rules, those with most pods first."""
    return [MovedByRule(rule) for rule in counts["rules"]]


def verdict_counts(counts: Json) -> list[tuple[str, str, str, int]]:
    """Return (verdict, words, meaning, pods) of each verdict that occurs, differences first."""
    return [
        (str(verdict), *VERDICTS[verdict], counts["verdicts"][verdict])
        for verdict in VERDICTS
        if counts["verdicts"][verdict]
    ]
