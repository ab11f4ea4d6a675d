"""What is kept of the samples of one container of one pod, the rest being discarded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple, TypeAlias

from kschedweb.engine.values import dataclass

OOM_RATIO, OOM_LEAST = 1.2, 100 * 1024 * 1024
MAX_RESOURCE_AMOUNT = 10**14
"""The largest amount, in millicores and in bytes."""


class UsageSample(NamedTuple):
    """What was seen at ``time`` (ns of the epoch): millicores, bytes, the memory request of a container killed."""

    time: int
    cpu: int | None = None
    memory: int | None = None
    oom: int | None = None


class Peak(NamedTuple):
    """The most memory (bytes) of an interval that ends at ``end``; it takes the place of ``replaced`` where not 0."""

    end: int
    memory: int
    replaced: int


InstanceState: TypeAlias = tuple[int | None, int | None, int, int]


@dataclass(slots=True)
class Instance:
    """One container of one pod: ``cpu`` are (time, millicores), ``peaks`` in order; ``interval`` is in ns."""

    interval: int
    cpu: list[tuple[int, int]] = field(default_factory=list)
    peaks: list[Peak] = field(default_factory=list)
    discarded: int = 0
    _end: int | None = None
    _last: int | None = None
    _used: int = 0  # the peak of use in this interval
    _killed: int = 0  # and what was estimated when the container was killed

    @classmethod
    def resume(cls, interval: int, state: InstanceState) -> Instance:
        """An instance that goes on where another one was left; its samples and peaks are those that follow."""
        return cls(interval, [], [], 0, *state)

    @property
    def state(self) -> InstanceState:
        """What ``resume`` needs to go on."""
        return self._end, self._last, self._used, self._killed

    def add_samples(self, samples: Iterable[UsageSample]) -> Instance:
        """Take samples in the order in which they came."""
        for sample in samples:
            if sample.cpu is not None:
                self._take_cpu(sample.time, sample.cpu)
            if sample.memory is not None:
                self._take_memory(sample.time, sample.memory)
            if sample.oom is not None:
                self._take_oom(sample.time, sample.oom)
        return self

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
        """A kill counts as more memory than was asked for or used; it may be an interval older than the last sample."""
        if self._last is not None and time < self._last - self.interval:
            self.discarded += 1
            return
        needed = max(request, self._used)
        needed = max(needed + OOM_LEAST, clamp_amount(needed * OOM_RATIO))
        self._killed = self._update_peak(time, needed, self._killed)

    def _update_peak(self, time: int, memory: int, before: int) -> int:
        """The peak after ``memory`` was seen, which was ``before``; an interval that begins with 0 keeps it."""
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
    """A whole amount, from 0 to ``MAX_RESOURCE_AMOUNT``."""
    return MAX_RESOURCE_AMOUNT if value > MAX_RESOURCE_AMOUNT else int(max(value, 0.0))
