"""The sandbox's time: how it follows real time, stands still, and goes on after a restart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.sandbox.clock_validation import NAME
from kschedweb.engine.sandbox.resources import CLOCK, POD
from kschedweb.engine.sandbox.status_errors import ApiRefusal
from kschedweb.engine.sandbox.world.clock import LONGEST_GAP, SAVED_EVERY
from tests.engine.sandbox.living import START, Living, pod


def time_of(living: Living) -> float:
    return living.world.clock.pace.time_at(living.now)


def test_time_passes_as_fast_as_the_clock_says() -> None:
    living = Living()
    living.live(10.0)
    assert time_of(living) == pytest.approx(START + 10.0)
    living.merge(CLOCK, NAME, {"spec": {"speed": 60}})
    living.live(10.0)
    assert time_of(living) == pytest.approx(START + 610.0)
    living.merge(CLOCK, NAME, {"spec": {"paused": True}})
    living.live(100.0)
    assert time_of(living) == pytest.approx(START + 610.0)
    living.merge(CLOCK, NAME, {"spec": {"paused": False, "speed": 2}})
    living.live(5.0)
    assert time_of(living) == pytest.approx(START + 620.0)


def test_nothing_is_due_while_time_stands_still() -> None:
    living = Living()
    living.merge(CLOCK, NAME, {"spec": {"paused": True}})
    living.live(1.0)
    due = living.world.next_time(living.now)
    assert due > living.now + 30.0


def test_what_takes_time_waits_while_time_stands_still() -> None:
    living = Living()
    living.node("one")
    living.live(1.0)
    living.merge(CLOCK, NAME, {"spec": {"paused": True}})
    living.create(POD, pod("a"))
    living.live(60.0)
    raw_pod = living.get(POD, "a")
    assert (raw_pod["spec"]["nodeName"], raw_pod["status"]["phase"]) == ("one", "Pending")
    living.merge(CLOCK, NAME, {"spec": {"paused": False}})
    living.live(3.0)
    assert living.get(POD, "a")["status"]["phase"] == "Running"


@given(
    st.lists(st.tuples(st.sampled_from(["live", "stop", "restart", 0, 1, 7, 60]), st.floats(0.01, 400.0)), max_size=12)
)
def test_time_never_goes_back_and_has_no_past_to_make_up_for(steps: list[tuple[object, float]]) -> None:
    """While the process is down, or its machine sleeps, time passes by a bounded part of that at most."""
    living = Living(schedulers=())
    last = time_of(living)
    for step, seconds in steps:
        before, speed = last, living.world.clock.pace.speed
        if step == "restart":
            living.now += seconds
            living.restart()
            assert time_of(living) <= before + min(seconds, SAVED_EVERY) * speed + 1e-3
        elif step == "stop":
            living.now += seconds
            living.world.advance(living.now)
            assert time_of(living) <= before + min(seconds, LONGEST_GAP) * speed + 1e-3
        elif step == "live":
            living.live(seconds)
            assert time_of(living) == pytest.approx(before + seconds * speed, abs=1e-3)
        else:
            living.merge(CLOCK, NAME, {"spec": {"paused": not step, "speed": step or 1}})
            living.turn()
        last = time_of(living)
        assert last >= before - 1e-3  # what is stored is rounded to microseconds


def test_a_restart_goes_on_where_the_clock_was_saved() -> None:
    living = Living()
    living.merge(CLOCK, NAME, {"spec": {"speed": 60}})
    living.live(25.0)
    before = time_of(living)
    living.restart()
    assert time_of(living) == pytest.approx(before, abs=1.0)
    living.now += 86_400.0
    living.restart()
    assert time_of(living) <= before + 60 * SAVED_EVERY + 1.0


@pytest.mark.parametrize(
    ("spec", "expected_error"),
    [
        ({"speed": 61}, "spec.speed: Invalid value: 61: must be a number between 1 and 60, inclusive"),
        ({"speed": True}, "spec.speed: Invalid value: true: must be a number between 1 and 60, inclusive"),
        ({"paused": "yes"}, 'spec.paused: Invalid value: "yes": must be true or false'),
        ({"happenings": 1}, "spec.happenings: Invalid value: 1: must be true or false"),
    ],
)
def test_a_clock_that_makes_no_sense_is_refused_in_words(spec: dict[str, object], expected_error: str) -> None:
    living = Living()
    with pytest.raises(ApiRefusal) as refused:
        living.merge(CLOCK, NAME, {"spec": spec})
    assert (refused.value.code, refused.value.message) == (
        422,
        f'Clock.sandbox.kschedweb.dev "main" is invalid: {expected_error}',
    )
    with pytest.raises(ApiRefusal, match="there is one clock"):
        living.create(CLOCK, {"metadata": {"name": "another"}, "spec": {}})
