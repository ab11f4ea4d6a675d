"""Recorded use: the use of machines over a day, one row for each machine."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Sequence
from io import StringIO

import numpy as np

from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

# Seconds: the recorded values are means over five minutes.
STEP = 300.0
# Limits of a recording: machines, and samples of each (a month).
MOST_MACHINES, MOST_SAMPLES = 20_000, 12 * 24 * 31
# Limit of all machines together, which bounds the memory.
MOST_VALUES = 20_000_000


class RecordingError(ValueError):
    """Text that is not a recording; the message says in which line, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class UseRecording:
    """The use of machines: means over ``step`` seconds, one after the other."""

    names: Sequence[str]
    # Percent, 0 to 100: float64[machines, samples].
    percent: Floats
    # Seconds.
    step: float = STEP

    @property
    def seconds(self) -> float:
        """The length of the recording."""
        return float(self.percent.shape[1] * self.step)

    @classmethod
    def from_file_bytes(cls, content: bytes) -> UseRecording:
        """Read a recording from a file's bytes, which may be compressed with gzip. Raises RecordingError."""
        try:
            raw = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
            return cls.from_csv(StringIO(raw.decode(), newline=None))
        except (OSError, EOFError, zlib.error) as error:
            raise RecordingError(f"is no whole gzip file: {error}") from None
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            raise RecordingError(f"line {line}: is not UTF-8 text") from None

    @classmethod
    def from_csv(cls, lines: Iterable[str]) -> UseRecording:
        """Read a recording from CSV text: name, then a percentage for each five minutes. Raises RecordingError."""
        names: list[str] = []
        values: list[Floats] = []
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row:
                continue
            if len(names) == MOST_MACHINES:
                raise RecordingError(f"line {number}: there are more than {MOST_MACHINES} machines")
            names.append(row[0])
            values.append(np.array(_parse_percentages(row[1:], number)))
            if len(values) * len(values[0]) > MOST_VALUES:
                raise RecordingError(f"line {number}: there are more than {MOST_VALUES:,} values: take fewer machines")
            if len(values[-1]) != len(values[0]):
                actual, expected = len(values[-1]), len(values[0])
                raise RecordingError(f"line {number}: has {actual} values, the first line {expected}")
        if not names:
            raise RecordingError("there are no lines: a line is a name, then a percentage for each five minutes")
        return cls(names, np.array(values))

    def join_after(self, before: UseRecording) -> UseRecording:
        """Return the machines of both recordings, ``before`` first and then this one. Raises RecordingError."""
        if before.step != self.step:
            raise RecordingError(f"has a value each {self.step:g} s, the one before it each {before.step:g} s")
        places = {name: place for place, name in enumerate(before.names)}
        both = [(places[name], place) for place, name in enumerate(self.names) if name in places]
        if not both:
            raise RecordingError("has no machine of the recording before it")
        first, then = (list(positions) for positions in zip(*both, strict=True))
        percent = np.hstack([before.percent[first], self.percent[then]])
        return UseRecording([self.names[place] for place in then], percent, self.step)

    @classmethod
    def generate(cls, generator: np.random.Generator, machines: int = 240, samples: int = 288) -> UseRecording:
        """Make up curves like recorded ones: most machines idle, few busy, some with a daily rhythm."""
        level = np.minimum(2.0 + 80.0 * generator.beta(0.5, 3.0, machines), 95.0)[:, None]
        hours = np.arange(samples)[None, :] * STEP / 3600.0
        phase = generator.uniform(0.0, 24.0, machines)[:, None]
        swing = generator.uniform(0.0, 0.5, machines)[:, None] * np.cos((hours - phase) * np.pi / 12.0)
        noise = generator.normal(0.0, 0.25, (machines, samples))
        percent = np.clip(np.round(level * (1.0 + swing + noise)), 0.0, 100.0)
        return cls([f"machine-{place + 1:03d}" for place in range(machines)], percent)

    def to_csv_lines(self) -> list[str]:
        """Return the recording as lines of CSV, one for each machine."""
        return [
            ",".join([name, *(f"{value:g}" for value in row)])
            for name, row in zip(self.names, self.percent.tolist(), strict=True)
        ]

    def sample_curves(self, interval: float, *, linear: bool = False) -> Floats:
        """Return percent in the middle of each ``interval`` seconds. Shape [machines, intervals].

        A mean holds for its whole step; with ``linear`` the line through the middles of the steps is followed.
        """
        samples = self.percent.shape[1]
        middles = (np.arange(round(self.seconds / interval)) + 0.5) * interval / self.step
        if not linear:
            return self.percent[:, np.minimum(middles.astype(np.intp), samples - 1)]
        sample_middles = np.arange(samples) + 0.5
        return np.array([np.interp(middles, sample_middles, row) for row in self.percent])


def _parse_percentages(cells: list[str], number: int) -> list[float]:
    if not cells:
        raise RecordingError(f"line {number}: has a name, but no values after it")
    if len(cells) > MOST_SAMPLES:
        raise RecordingError(f"line {number}: has {len(cells)} values, at most {MOST_SAMPLES} (a month) are taken")
    percentages = []
    for place, cell in enumerate(cells, start=1):
        try:
            value = float(cell)
        except ValueError:
            raise RecordingError(f"line {number}, value {place}: {cell[:40]!r} is not a number") from None
        if not 0.0 <= value <= 100.0:
            raise RecordingError(f"line {number}, value {place}: {cell[:40]} is not a percentage from 0 to 100")
        percentages.append(value)
    return percentages
