"""A book of what containers used, carried on sample by sample: it holds histograms, and no sample of the past."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.rightsizing.histogram import Ints
from kschedweb.engine.rightsizing.recommender import DAY, Bounds, Settings, Usage, recommend
from kschedweb.engine.rightsizing.samples import Instance, Kept, Sample
from kschedweb.engine.values import dataclass

EXPIRY = 8 * DAY
"""A container of which nothing was heard for so long is forgotten: the recommender's window of eight intervals."""
FORM = 1
_UNKNOWN = -1
_OF_ROWS = ("first", "last", "samples", "discarded", "killed")


class Taken(NamedTuple):
    """One sample of the container ``name`` ("namespace/Kind/workload/container") in the pod ``pod``."""

    name: str
    pod: str
    sample: Sample


@dataclass
class Book:
    """``names`` are the rows of ``usage``; ``running`` has the interval of each (row, pod) that was seen lately.

    ``killed`` counts kills for want of memory by row.
    """

    names: list[str]
    usage: Usage
    killed: Ints
    running: dict[tuple[int, str], tuple[Kept, int]]  # and the time of the last kill that counted

    @classmethod
    def empty(cls, settings: Settings | None = None) -> Book:
        return cls([], Usage(settings or Settings(), 0), np.zeros(0, np.int64), {})

    @property
    def settings(self) -> Settings:
        return self.usage.settings

    def take(self, samples: Sequence[Taken], now: int) -> Book:
        """The book with ``samples`` (in the order in which they came), without what expired at ``now`` (ns)."""
        kept = [row for row in range(len(self.names)) if self.usage.last[row] > now - EXPIRY]
        names = [self.names[row] for row in kept]
        places = {name: place for place, name in enumerate(names)}
        for one in samples:
            if one.name not in places:
                places[one.name] = len(names)
                names.append(one.name)
        book = self._with(names, np.array(kept, np.int64))
        moved = {row: place for place, row in enumerate(kept)}
        book.running = {
            (moved[row], pod): state
            for (row, pod), state in self.running.items()
            if row in moved and (state[0][0] or 0) > now - self.settings.interval
        }
        book._add(samples, places)
        return book

    def _with(self, names: list[str], source: Ints) -> Book:
        """A book of ``names`` whose first rows are the rows ``source`` of this one."""
        book = Book(names, Usage(self.settings, len(names)), np.zeros(len(names), np.int64), {})
        columns, target = self._columns(), np.arange(len(source))
        for name, own in book._columns().items():
            own[target] = columns[name][source]
        return book

    def _columns(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {
            f"{resource} {name}": column
            for resource, one in (("cpu", self.usage.cpu), ("memory", self.usage.memory))
            for name, column in one.columns().items()
        }
        usage = self.usage
        rows = usage.first, usage.last, usage.samples, usage.discarded, self.killed
        return found | dict(zip(_OF_ROWS, rows, strict=True))

    def _add(self, samples: Sequence[Taken], places: dict[str, int]) -> None:
        interval = self.settings.interval
        going: dict[tuple[int, str], Instance] = {}
        kills: dict[tuple[int, str], int] = {}
        for name, pod, sample in samples:
            key = places[name], pod
            instance = going.get(key)
            if instance is None:
                kept, kills[key] = self.running.get(key, ((None, None, 0, 0), _UNKNOWN))
                instance = going[key] = Instance.again(interval, kept)
            if sample.oom is not None:
                if sample.time <= kills[key]:
                    continue
                kills[key] = sample.time
                self.killed[key[0]] += 1
            instance.take((sample,))
        self.usage.add((row, instance) for (row, _), instance in going.items())
        self.running |= {key: (instance.kept, kills[key]) for key, instance in going.items()}

    def recommended(self, siblings: Ints) -> tuple[Bounds, Bounds]:
        """CPU in millicores and memory in bytes; ``siblings`` is how many containers the pods of each row have."""
        cpu, memory = recommend(self.usage, siblings)
        return cpu.rounded(self.settings.round_cpu), memory.rounded(self.settings.round_memory)

    def packed(self) -> bytes:
        """All of it in bytes, for ``unpacked``; the settings are not among them."""
        keys = list(self.running)
        states = [self.running[key] for key in keys]
        numbers = [[_UNKNOWN if value is None else value for value in (*kept, killed)] for kept, killed in states]
        content = io.BytesIO()
        columns: dict[str, Any] = {name.replace(" ", "_"): column for name, column in self._columns().items()}
        np.savez(
            content,
            form=np.array([FORM]),
            names=_text(self.names),
            rows=np.array([row for row, _ in keys], np.int64),
            pods=_text(pod for _, pod in keys),
            states=np.array(numbers, np.int64).reshape(len(keys), 5),
            **columns,
        )
        return zlib.compress(content.getvalue(), 1)

    @classmethod
    def unpacked(cls, content: bytes, settings: Settings | None = None) -> Book:
        """The reverse of ``packed``."""
        with np.load(io.BytesIO(zlib.decompress(content)), allow_pickle=False) as found:
            names = _lines(found["names"])
            book = cls.empty(settings)._with(names, np.zeros(0, np.int64))
            for name, own in book._columns().items():
                own[:] = found[name.replace(" ", "_")]
            keys = zip(found["rows"].tolist(), _lines(found["pods"]), strict=True)
            for key, (end, last, used, killed, kill) in zip(keys, found["states"].tolist(), strict=True):
                known = None if end == _UNKNOWN else end, None if last == _UNKNOWN else last
                book.running[key] = (*known, used, killed), kill
        return book


def _text(lines: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode(), np.uint8)


def _lines(content: NDArray[np.uint8]) -> list[str]:
    text = content.tobytes().decode()
    return text.split("\n") if text else []
