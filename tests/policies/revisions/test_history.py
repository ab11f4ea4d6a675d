"""Every change can be undone and redone, in order, from what the form posts."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.policies.revisions import history
from kschedweb.policies.revisions.history import History, State
from tests.support import tiers

STATES = st.builds(
    State,
    st.text("ab\n ", max_size=12),
    st.dictionaries(st.sampled_from(["process.release"]), st.text("13.", max_size=4)),
)


@settings(max_examples=tiers.count(100, 3000), deadline=None)
@given(states=st.lists(STATES, min_size=1, max_size=8))
def test_undoing_goes_back_through_every_state_and_redoing_forth_again(states: list[State]) -> None:
    different = [states[0]]
    kept = History(states[0].process)
    for before, now in pairwise(states):
        kept = History.read(kept.then(before.document, now).text, {})
        if now != before:
            different.append(now)
    now, seen = different[-1], [different[-1]]
    while kept.back:
        now, kept = kept.undone(now)
        kept = History.read(kept.text, {})
        seen.append(now)
    assert seen == different[::-1]
    while kept.forth:
        now, kept = kept.redone(now)
        seen.append(now)
    assert now == different[-1]
    assert kept.process == now.process


def test_a_new_change_ends_what_could_be_redone() -> None:
    kept = History({}).then("a", State("ab", {}))
    now, kept = kept.undone(State("ab", {}))
    assert (now.document, len(kept.forth)) == ("a", 1)
    assert kept.then("a", State("ac", {})).forth == ()


def test_without_steps_nothing_is_undone() -> None:
    now = State("a", {})
    assert History({}).undone(now) == (now, History({}))
    assert History({}).redone(now) == (now, History({}))


def test_old_steps_are_forgotten_and_large_ones_too() -> None:
    kept = History({})
    for number in range(history.MOST_STEPS + 20):
        kept = kept.then(f"{number}", State(f"{number + 1}", {}))
    assert len(kept.back) == history.MOST_STEPS
    long = "x" * (history.MOST_TEXT + 1)
    assert History({}).then(long, State("", {})).back == ()


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
    assert History.read(text, {"process.release": "1.36"}) == History({"process.release": "1.36"})
