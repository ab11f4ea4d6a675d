"""Reading recorded use, and what is wrong with text that is none."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.simulation.recording import RecordingError, UseRecording


def test_a_line_is_a_name_and_its_percentages() -> None:
    recording = UseRecording.from_csv(["one,0,50,100", "two,1,2.5,3", ""])
    assert recording.names == ["one", "two"]
    assert recording.percent.tolist() == [[0.0, 50.0, 100.0], [1.0, 2.5, 3.0]]
    assert recording.seconds == 900.0


@pytest.mark.parametrize(
    ("lines", "expected_error"),
    [
        ([], "there are no lines"),
        (["one"], "line 1: has a name, but no values"),
        (["one,1,2", "two,1"], "line 2: has 1 values, the first line 2"),
        (["one,1,x"], "line 1, value 2: 'x' is not a number"),
        (["one,1,101"], "line 1, value 2: 101 is not a percentage from 0 to 100"),
        (["one,nan"], "line 1, value 1: nan is not a percentage"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(lines: list[str], expected_error: str) -> None:
    with pytest.raises(RecordingError) as caught:
        UseRecording.from_csv(lines)
    assert expected_error in str(caught.value)


def test_a_file_may_be_compressed() -> None:
    for content in (b"one,0,50\n", gzip.compress(b"one,0,50\n")):
        assert UseRecording.from_file_bytes(content).percent.tolist() == [[0.0, 50.0]]


@pytest.mark.parametrize(
    ("content", "expected_error"),
    [
        (gzip.compress(b"one,0,50\n")[:-4], "is no whole gzip file"),
        (b"\x1f\x8bnot so", "is no whole gzip file"),
        (b"one,1\ntwo,\xff\n", "line 2: is not UTF-8 text"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_of(content: bytes, expected_error: str) -> None:
    with pytest.raises(RecordingError, match=expected_error):
        UseRecording.from_file_bytes(content)


def test_a_recorded_mean_holds_for_its_step_or_is_passed_in_its_middle() -> None:
    recording = UseRecording.from_csv(["one,0,60"])
    assert recording.sample_curves(300.0).tolist() == [[0.0, 60.0]]
    assert recording.sample_curves(100.0).tolist() == [[0.0, 0.0, 0.0, 60.0, 60.0, 60.0]]
    assert recording.sample_curves(100.0, linear=True).round(9).tolist() == [[0.0, 0.0, 20.0, 40.0, 60.0, 60.0]]


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_made_up_curves_are_a_recording_that_can_be_read_back(seed: int, machines: int) -> None:
    recording = UseRecording.generate(np.random.default_rng(seed), machines, 12)
    reread = UseRecording.from_csv(recording.to_csv_lines())
    assert list(reread.names) == list(recording.names)
    assert reread.percent.tolist() == recording.percent.tolist()


def test_a_day_follows_the_day_before_with_the_machines_of_both() -> None:
    before, day = UseRecording.from_csv(["a,1,2", "b,3,4"]), UseRecording.from_csv(["c,5,6", "b,7,8", "a,9,10"])
    both = day.join_after(before)
    assert both.names == ["b", "a"]
    assert both.percent.tolist() == [[3, 4, 7, 8], [1, 2, 9, 10]]
    with pytest.raises(RecordingError, match="no machine of the recording before it"):
        UseRecording.from_csv(["d,1"]).join_after(before)
