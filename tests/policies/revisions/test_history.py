"""Every change can be undone and redone, in order, from what the form posts."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.policies.revisions import history
from kschedweb.policies.revisions.history import DocumentState, EditHistory
from tests.support import tiers

STATES = st.builds(
    DocumentState,
    st.text("ab\n ", max_size=12),
    st.dictionaries(st.sampled_from(["process.release"]), st.text("13.", max_size=4)),
)


@settings(max_examples=tiers.count(100, 3000), deadline=None)
@given(states=st.lists(STATES, min_size=1, max_size=8))
def test_undoing_goes_back_through_every_state_and_redoing_forth_again(states: list[DocumentState]) -> None:
    different = [states[0]]
    kept = EditHistory(states[0].process)
    for before, now in pairwise(states):
        kept = EditHistory.from_json(kept.after_change(before.document, now).text, {})
        if now != before:
            different.append(now)
    now, seen = different[-1], [different[-1]]
    while kept.back:
        now, kept = kept.undo_step(now)
        kept = EditHistory.from_json(kept.text, {})
        seen.append(now)
    assert seen == different[::-1]
    while kept.forth:
        now, kept = kept.redo_step(now)
        seen.append(now)
    assert now == different[-1]
    assert kept.process == now.process


def test_a_new_change_ends_what_could_be_redone() -> None:
    kept = EditHistory({}).after_change("a", DocumentState("ab", {}))
    now, kept = kept.undo_step(DocumentState("ab", {}))
    assert (now.document, len(kept.forth)) == ("a", 1)
    assert kept.after_change("a", DocumentState("ac", {})).forth == ()


def test_without_steps_nothing_is_undone() -> None:
    now = DocumentState("a", {})
    assert EditHistory({}).undo_step(now) == (now, EditHistory({}))
    assert EditHistory({}).redo_step(now) == (now, EditHistory({}))


def test_old_steps_are_forgotten_and_large_ones_too() -> None:
    kept = EditHistory({})
    for number in range(history.MOST_STEPS + 20):
        kept = kept.after_change(f"{number}", DocumentState(f"{number + 1}", {}))
    assert len(kept.back) == history.MOST_STEPS
    long = "x" * (history.MOST_TEXT + 1)
    assert EditHistory({}).after_change(long, DocumentState("", {})).back == ()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"process": 1, "back": [], "forth": []}', "[" * 100_000]
    + [
        json.dumps({"process": {}, "back": [step], "forth": []})
        for step in (
            [1],
            [0, 1, 2, None],
            [-1, 1, "", None],
            [3, 1, "", None],
            [True, 1, "", None],
            [0, 0, "", {"a": 1}],
        )
    ],
)
def test_what_is_no_history_is_none(text: str) -> None:
    assert EditHistory.from_json(text, {"process.release": "1.36"}) == EditHistory({"process.release": "1.36"})
