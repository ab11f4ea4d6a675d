"""Samples of one container of one pod, reduced to what the recommender keeps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple, TypeAlias

from kschedweb.engine.values import dataclass

# A kill raises the estimate by the larger of this ratio and these bytes (`OOMBumpUpRatio`, `OOMMinBumpUp`).
OOM_RATIO, OOM_LEAST = 1.2, 100 * 1024 * 1024
# Stands in columns of usage for what is not known.
UNKNOWN_AMOUNT = -(2**63)
# The largest amount, in millicores and in bytes.
MAX_RESOURCE_AMOUNT = 10**14


class UsageSample(NamedTuple):
    """The usage seen at one time."""

    # Nanoseconds of the epoch.
    time: int
    # Millicores.
    cpu: int | None = None
    # Bytes.
    memory: int | None = None
    # The memory request of a container that was killed, in bytes.
    oom: int | None = None


class Peak(NamedTuple):
    """The highest memory usage in an interval."""

    # End of the interval, in ns of the epoch.
    end: int
    # Bytes.
    memory: int
    # The earlier peak of the interval, which this one replaces; 0 for none.
    replaced: int


InstanceState: TypeAlias = tuple[int | None, int | None, int, int]


@dataclass(slots=True)
class Instance:
    """One container of one pod."""

    # Nanoseconds.
    interval: int
    # (time, millicores).
    cpu: list[tuple[int, int]] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    # Samples that were refused.
    discarded: int = 0
    # End of the present interval.
    _end: int | None = None
    # Time of the last memory sample.
    _last: int | None = None
    # Peak of usage in this interval.
    _used: int = 0
    # The estimate when the container was killed in this interval.
    _killed: int = 0

    @classmethod
    def resume(cls, interval: int, state: InstanceState) -> Instance:
        """Return an instance that goes on from ``state``; it holds only the samples and peaks that follow."""
        return cls(interval, [], [], 0, *state)

    @property
    def state(self) -> InstanceState:
        """The state for ``resume``."""
        return self._end, self._last, self._used, self._killed

    def add_samples(self, samples: Iterable[UsageSample]) -> Instance:
        """Add samples in the order in which they came."""
        for sample in samples:
            if sample.cpu is not None:
                self._take_cpu(sample.time, sample.cpu)
            if sample.memory is not None:
                self._take_memory(sample.time, sample.memory)
            if sample.oom is not None:
                self._take_oom(sample.time, sample.oom)
        return self

    def add_columns(self, times: list[int], cpu: list[int], memory: list[int]) -> None:
        """Add samples at ``times``, in the order in which they came, with ``UNKNOWN_AMOUNT`` for what is not known."""
        for time, used in zip(times, cpu, strict=True):
            if used != UNKNOWN_AMOUNT:
                self._take_cpu(time, used)
        for time, used in zip(times, memory, strict=True):
            if used != UNKNOWN_AMOUNT:
                self._take_memory(time, used)

    def _take_cpu(self, time: int, used: int) -> None:
        if used < 0 or (self.cpu and time <= self.cpu[-1][0]):
            self.discarded += 1
        else:
            self.cpu.append((time, used))

    def _take_memory(self, time: int, used: int) -> None:
        if used < 0 or (self._last is not None and time < self._last):
            self.discarded += 1
        else:
            self._used = self._update_peak(time, used, self._used)

    def _take_oom(self, time: int, request: int) -> None:
        """Record a kill, which counts as more memory than was requested or used.

        It may be up to an interval older than the last sample.
        """
        if self._last is not None and time < self._last - self.interval:
            self.discarded += 1
            return
        needed = max(request, self._used)
        needed = max(needed + OOM_LEAST, clamp_amount(needed * OOM_RATIO))
        self._killed = self._update_peak(time, needed, self._killed)

    def _update_peak(self, time: int, memory: int, before: int) -> int:
        """Return the peak after ``memory`` was seen; ``before`` is the peak so far.

        An interval that begins with 0 keeps it.
        """
        self._last = time
        if self._end is None or time >= self._end:
            start = time if self._end is None else time - (time - self._end) % self.interval
            self._end = start + self.interval
            self._used = self._killed = 0
            self.peaks.append(Peak(self._end, memory, 0))
            return memory
        highest = max(self._used, self._killed)
        if not 0 < highest < memory:
            return before
        self.peaks.append(Peak(self._end, memory, highest))
        return memory


def clamp_amount(value: float) -> int:
    """Return a whole amount, from 0 to ``MAX_RESOURCE_AMOUNT``."""
    return MAX_RESOURCE_AMOUNT if value > MAX_RESOURCE_AMOUNT else int(max(value, 0.0))
