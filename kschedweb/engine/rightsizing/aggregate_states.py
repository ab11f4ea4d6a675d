"""The recommender's state, updated sample by sample: histograms of containers, and no past samples."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.rightsizing.histogram import Ints
from kschedweb.engine.rightsizing.recommender import (
    DAY,
    Bounds,
    RecommenderSettings,
    Usage,
    get_recommended_pod_resources,
)
from kschedweb.engine.rightsizing.samples import Instance, InstanceState, UsageSample
from kschedweb.engine.values import dataclass

# A container without samples for so long is dropped: the recommender keeps eight intervals.
EXPIRY = 8 * DAY
# The version of the bytes that `to_bytes` writes.
FORM = 1
# Stands for None in columns of numbers.
_UNKNOWN = -1
# Names of the columns that have one number a container, in the order of `_to_columns`.
_ROW_COLUMNS = ("first", "last", "samples", "discarded", "killed")


class ContainerSample(NamedTuple):
    """A sample of one container of a pod."""

    # namespace/Kind/workload/container.
    name: str
    pod: str
    sample: UsageSample


class UsageColumns(NamedTuple):
    """The usage of containers of pods at several times, in their order."""

    # Name as in ``ContainerSample``, and pod.
    containers: Sequence[tuple[str, str]]
    # Nanoseconds of the epoch.
    times: Ints
    # Millicores and bytes, [times, containers]; UNKNOWN_AMOUNT for what is not known.
    cpu: Ints
    memory: Ints


@dataclass
class AggregateContainerStates:
    """The usage of all containers, and the intervals that are still open."""

    # Names of the containers, which are the rows of `usage`.
    names: list[str]
    usage: Usage
    # Kills for lack of memory by row.
    killed: Ints
    # (row, pod) -> (its interval, time of the last kill that counted), for pods with a recent sample.
    running: dict[tuple[int, str], tuple[InstanceState, int]]

    @classmethod
    def create_empty(cls, settings: RecommenderSettings | None = None) -> AggregateContainerStates:
        return cls([], Usage(settings or RecommenderSettings(), 0), np.zeros(0, np.int64), {})

    @property
    def settings(self) -> RecommenderSettings:
        return self.usage.settings

    def with_samples(
        self, samples: Sequence[ContainerSample], now: int, usage: UsageColumns | None = None
    ) -> AggregateContainerStates:
        """Return the state with ``samples``, in their order, and ``usage`` after them.

        Containers that expired at ``now`` (ns) are left out.
        """
        live_rows = [row for row in range(len(self.names)) if self.usage.last[row] > now - EXPIRY]
        names = [self.names[row] for row in live_rows]
        places = {name: place for place, name in enumerate(names)}
        added = [sample.name for sample in samples], [name for name, _ in usage.containers] if usage else []
        for name in chain(*added):
            if name not in places:
                places[name] = len(names)
                names.append(name)
        book = self._select_rows(names, np.array(live_rows, np.int64))
        moved = {row: place for place, row in enumerate(live_rows)}
        book.running = {
            (moved[row], pod): state
            for (row, pod), state in self.running.items()
            if row in moved and (state[0][0] or 0) > now - self.settings.interval
        }
        book._add_samples(samples, usage, places)
        return book

    def _select_rows(self, names: list[str], source: Ints) -> AggregateContainerStates:
        """Return a state of ``names`` whose first rows are the rows ``source`` of this one."""
        book = AggregateContainerStates(names, Usage(self.settings, len(names)), np.zeros(len(names), np.int64), {})
        columns, target = self._to_columns(), np.arange(len(source))
        for name, column in book._to_columns().items():
            column[target] = columns[name][source]
        return book

    def _to_columns(self) -> dict[str, NDArray[Any]]:
        columns: dict[str, NDArray[Any]] = {
            f"{resource} {name}": column
            for resource, histograms in (("cpu", self.usage.cpu), ("memory", self.usage.memory))
            for name, column in histograms.to_columns().items()
        }
        usage = self.usage
        rows = usage.first, usage.last, usage.samples, usage.discarded, self.killed
        return columns | dict(zip(_ROW_COLUMNS, rows, strict=True))

    def _add_samples(
        self, samples: Sequence[ContainerSample], usage: UsageColumns | None, places: dict[str, int]
    ) -> None:
        """Add samples and usage to the rows ``places``, continuing the open intervals of their pods."""
        interval = self.settings.interval
        going: dict[tuple[int, str], Instance] = {}
        kills: dict[tuple[int, str], int] = {}

        def resume(key: tuple[int, str]) -> Instance:
            instance = going.get(key)
            if instance is None:
                instance_state, kills[key] = self.running.get(key, ((None, None, 0, 0), _UNKNOWN))
                instance = going[key] = Instance.resume(interval, instance_state)
            return instance

        for name, pod, sample in samples:
            key = places[name], pod
            instance = resume(key)
            if sample.oom is not None:
                # A kill may be reported more than once: only a later one counts.
                if sample.time <= kills[key]:
                    continue
                kills[key] = sample.time
                self.killed[key[0]] += 1
            instance.add_samples((sample,))
        if usage is not None:
            times = usage.times.tolist()
            columns = zip(usage.containers, usage.cpu.T.tolist(), usage.memory.T.tolist(), strict=True)
            for (name, pod), cpu, memory in columns:
                resume((places[name], pod)).add_columns(times, cpu, memory)
        self.usage.add_instances((row, instance) for (row, _), instance in going.items())
        self.running |= {key: (instance.state, kills[key]) for key, instance in going.items()}

    def compute_bounds(self, siblings: Ints) -> tuple[Bounds, Bounds]:
        """Return the bounds of CPU in millicores and memory in bytes.

        ``siblings`` is the number of containers in the pods of each row.
        """
        cpu, memory = get_recommended_pod_resources(self.usage, siblings)
        return cpu.round_up(self.settings.round_cpu), memory.round_up(self.settings.round_memory)

    def to_bytes(self) -> bytes:
        """Return the whole state in bytes, for ``from_bytes``; the settings are not included."""
        keys = list(self.running)
        states = [self.running[key] for key in keys]
        numbers = [
            [_UNKNOWN if value is None else value for value in (*instance_state, killed)]
            for instance_state, killed in states
        ]
        content = io.BytesIO()
        # `savez` declares that a keyword may also be its option `allow_pickle`.
        columns: dict[str, Any] = {name.replace(" ", "_"): column for name, column in self._to_columns().items()}
        np.savez(
            content,
            form=np.array([FORM]),
            names=_encode_lines(self.names),
            rows=np.array([row for row, _ in keys], np.int64),
            pods=_encode_lines(pod for _, pod in keys),
            states=np.array(numbers, np.int64).reshape(len(keys), 5),
            **columns,
        )
        return zlib.compress(content.getvalue(), 1)

    @classmethod
    def from_bytes(cls, content: bytes, settings: RecommenderSettings | None = None) -> AggregateContainerStates:
        """Read the bytes that ``to_bytes`` wrote."""
        with np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False) as arrays:
            names = _decode_lines(arrays["names"])
            book = cls.create_empty(settings)._select_rows(names, np.zeros(0, np.int64))
            for name, column in book._to_columns().items():
                column[:] = arrays[name.replace(" ", "_")]
            keys = zip(arrays["rows"].tolist(), _decode_lines(arrays["pods"]), strict=True)
            for key, (end, last, used, killed, kill) in zip(keys, arrays["states"].tolist(), strict=True):
                end_and_last = None if end == _UNKNOWN else end, None if last == _UNKNOWN else last
                book.running[key] = (*end_and_last, used, killed), kill
        return book


def _encode_lines(lines: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def _decode_lines(content: NDArray[np.uint8]) -> list[str]:
    text = content.tobytes().decode()
    return text.split("\n") if text else []
