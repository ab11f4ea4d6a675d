"""Addresses as long as a server takes are redacted in time that grows with their length, not with its square."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial

import pytest

from kschedweb.web.redaction import redact_text
from tests.bench.conftest import measure_milliseconds

SHORT, LONG = 15_000, 60_000  # characters
MOST_TIMES = 9.0  # as long for four times the text, where the square would be 16


@pytest.mark.parametrize("piece", ["W", "A.", "a-", "a://b", "token", "token ", "bearer ", "-eyJ.", "-----BEGIN "])
def test_redaction_takes_time_by_length(piece: str, report: Callable[..., None]) -> None:
    texts = ("GET /?cursor=" + piece * (length // len(piece)) for length in (SHORT, LONG))
    short, long = ([measure_milliseconds(partial(redact_text, text)) for _ in range(9)] for text in texts)
    ratio = statistics.median(long) / statistics.median(short)
    report(f"{LONG:,} characters of {piece!r} redacted", long, 1000, f"{ratio:.1f} times as long as {SHORT:,}")
    assert ratio <= MOST_TIMES
