"""Answers in one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.releases.classic.comparison import MoveVerdict
from kschedweb.playground.migration import listing, sentences

RULE = {"name": "SelectorSpreadPriority", "side": "classic", "kind": "prefers"}
FILTER = {"name": "TaintToleration", "side": "profile", "kind": "rejects"}


def counts(pods: int, rules: list[dict[str, Any]], **verdicts: int) -> dict[str, Any]:
    numbers = {str(verdict): verdicts.get(verdict.replace(" ", "_"), 0) for verdict in MoveVerdict}
    return {"pods": pods, "verdicts": numbers, "rules": rules}


@pytest.mark.parametrize(
    ("counted", "sentence"),
    [
        (counts(0, []), "There was no pod to compare"),
        (counts(1, [], same=1), "None of 1 pod would move"),
        (
            counts(1250, [{**RULE, "pods": 21, "moves": 21}, {**FILTER, "pods": 16, "moves": 16}], moves=37),
            "Of 1,250 pods 37 would move; 21 by SelectorSpreadPriority",
        ),
        (
            counts(10, [{**FILTER, "pods": 5, "moves": 2}], moves=2, only_classic=3),
            "Of 10 pods 2 would move; all by TaintToleration; 3 fit only under the classic policy",
        ),
        (counts(23, [{**RULE, "pods": 1, "moves": 1}], moves=1), "Of 23 pods 1 would move, by SelectorSpreadPriority"),
        (
            counts(10, [{**RULE, "name": "", "kind": "fails", "pods": 1, "moves": 0}], only_profile=1),
            "None of 10 pods would move; 1 fits only under the profile",
        ),
    ],
)
def test_the_answer_is_one_sentence(counted: dict[str, Any], sentence: str) -> None:
    assert sentences.answer_sentence(counted) == sentence


def test_rules_and_verdicts_have_words() -> None:
    counted = counts(10, [{**FILTER, "pods": 5, "moves": 2}, {**RULE, "pods": 1, "moves": 1}], moves=3, only_classic=3)
    first, second = listing.moved_by_rule(counted)
    assert (first.key, first.only, first.words) == ("profile:rejects:TaintToleration", 3, "rejects the other's node")
    assert second.words == "prefers its own node most"
    assert (first.explained, second.explained) == (False, True)
    assert [(verdict, number) for verdict, _, _, number in listing.verdict_counts(counted)] == [
        ("moves", 3),
        ("only classic", 3),
    ]
    assert sentences.rule_name({**RULE, "name": "", "kind": "fails"}) == "an error"
