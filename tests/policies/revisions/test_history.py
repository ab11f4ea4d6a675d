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
    edit_history = EditHistory(states[0].process)
    for before, now in pairwise(states):
        edit_history = EditHistory.from_json(edit_history.after_change(before.document, now).text, {})
        if now != before:
            different.append(now)
    now, visited = different[-1], [different[-1]]
    while edit_history.back:
        now, edit_history = edit_history.undo_step(now)
        edit_history = EditHistory.from_json(edit_history.text, {})
        visited.append(now)
    assert visited == different[::-1]
    while edit_history.forth:
        now, edit_history = edit_history.redo_step(now)
        visited.append(now)
    assert now == different[-1]
    assert edit_history.process == now.process


def test_a_new_change_ends_what_could_be_redone() -> None:
    edit_history = EditHistory({}).after_change("a", DocumentState("ab", {}))
    now, edit_history = edit_history.undo_step(DocumentState("ab", {}))
    assert (now.document, len(edit_history.forth)) == ("a", 1)
    assert edit_history.after_change("a", DocumentState("ac", {})).forth == ()


def test_without_steps_nothing_is_undone() -> None:
    now = DocumentState("a", {})
    assert EditHistory({}).undo_step(now) == (now, EditHistory({}))
    assert EditHistory({}).redo_step(now) == (now, EditHistory({}))


def test_old_steps_are_forgotten_and_large_ones_too() -> None:
    edit_history = EditHistory({})
    for number in range(history.MOST_STEPS + 20):
        edit_history = edit_history.after_change(f"{number}", DocumentState(f"{number + 1}", {}))
    assert len(edit_history.back) == history.MOST_STEPS
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
