"""A space of policies: fields of a policy that vary, their values, and the document of each point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.studies.document.document import DocumentError, DocumentProblem
from kschedweb.engine.studies.search import fields
from kschedweb.engine.values import dataclass

MOST_DIMENSIONS = 12
MOST_VALUES = 100  # of one dimension in a grid
DEFAULT_COUNT = 5  # default number of values of a continuous range in a grid
LARGEST = 2**31 - 1
KEYS = ("path", "from", "to", "step", "log", "count", "values")

Value = Any  # a number, a string or a boolean
Point = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Dimension:
    """A field that varies over ``choices``, or from ``low`` to ``high``.

    Values are integers if both ends and the step are. ``step`` is ``None`` for a continuous range; ``log`` spaces
    values evenly by ratio; ``count`` is the number of values in a grid, 0 for one per step.
    """

    path: str
    choices: tuple[Value, ...] = ()
    low: float = 0
    high: float = 0
    step: float | None = None
    log: bool = False
    count: int = 0

    @property
    def whole(self) -> bool:
        ends = (self.low, self.high, self.step if self.step is not None else 1)
        return not self.choices and all(isinstance(one, int) for one in ends)

    @property
    def numeric(self) -> bool:
        return all(isinstance(one, int | float) and not isinstance(one, bool) for one in self.choices)

    @property
    def label(self) -> str:
        """A readable name, such as ``NodeResourcesFit weight`` or ``NodeResourcesFit scoringStrategy.type``."""
        steps = fields.steps(self.path)
        found = fields.weighed(steps)
        if found is not None:
            return f"{found[1]} weight"
        for within in ("args", "argument"):
            if within in steps and isinstance(steps[steps.index(within) - 1], fields.Name):
                return f"{steps[steps.index(within) - 1]} {self.path.partition(f'.{within}.')[2]}"
        return self.path

    def values(self) -> tuple[Value, ...]:
        """The values of a grid, in order."""
        if self.choices:
            return self.choices
        if self.count:
            spaced = np.geomspace if self.log else np.linspace
            found = [self.rounded(float(one)) for one in spaced(self.low, self.high, self.count)]
        elif self.log and self.whole:
            doublings = int(math.log2(self.high / self.low))
            found = [*(self.low * 2**power for power in range(doublings + 1)), self.high]
        elif self.whole or self.step is not None:
            step = self.step or 1
            found = [self.rounded(self.low + step * place) for place in range(self._steps(step) + 1)]
        else:
            spaced = np.geomspace if self.log else np.linspace
            found = [self.rounded(float(one)) for one in spaced(self.low, self.high, DEFAULT_COUNT)]
        return tuple(dict.fromkeys(found))

    @property
    def size(self) -> int:
        """The number of values in a grid, without making them."""
        if self.choices:
            return len(self.choices)
        if self.count or (self.log and self.whole) or not (self.whole or self.step is not None):
            return len(self.values())
        return self._steps(self.step or 1) + 1

    def _steps(self, step: float) -> int:
        return math.floor((self.high - self.low) / step + 1e-9)

    def rounded(self, value: float) -> float:
        """``value`` rounded as it is written into a document."""
        return round(value) if self.whole else float(f"{value:.10g}")

    def holds(self, value: Value) -> bool:
        """Whether the dimension can have ``value``."""
        if self.choices:
            return any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in self.choices)
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def to_dict(self) -> dict[str, Any]:
        """Plain data for ``read``."""
        if self.choices:
            return {"path": self.path, "values": list(self.choices)}
        plain: dict[str, Any] = {"path": self.path, "from": self.low, "to": self.high}
        if self.step is not None:
            plain["step"] = self.step
        return plain | ({"log": True} if self.log else {}) | ({"count": self.count} if self.count else {})


@dataclass(frozen=True, slots=True)
class Space:
    """Fields that vary around a policy. A point has a value for each dimension, in order."""

    dimensions: tuple[Dimension, ...]
    base: Mapping[str, Any]
    configuration: Configuration

    @property
    def size(self) -> int:
        """The number of points of the grid."""
        return math.prod(one.size for one in self.dimensions)

    def grid(self) -> Iterator[Point]:
        """Every combination of values; the last dimension varies fastest."""
        return itertools.product(*(one.values() for one in self.dimensions))

    @property
    def start(self) -> Point:
        """The base policy's value of each dimension; ``None`` if it has none."""
        found = (fields.value(self.configuration, fields.steps(one.path)) for one in self.dimensions)
        return tuple(None if value is fields.ABSENT else value for value in found)

    def holds(self, point: Sequence[Value]) -> bool:
        """Whether every value of ``point`` is within its dimension."""
        return all(one.holds(value) for one, value in zip(self.dimensions, point, strict=True))

    def alone(self, most: int) -> list[Point]:
        """Points that differ from the base policy in one dimension: up to ``most`` values of each, with both ends.

        Dimensions alternate, so that the first part of the list covers all of them.
        """
        start = self.start
        by_dimension = []
        for place, one in enumerate(self.dimensions):
            values = one.values()
            kept = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
            points = [(*start[:place], values[at], *start[place + 1 :]) for at in kept.tolist()]
            by_dimension.append([point for point in points if point != start])
        turns = itertools.chain.from_iterable(itertools.zip_longest(*by_dimension))
        return list(dict.fromkeys(point for point in turns if point is not None))

    def document(self, point: Sequence[Value]) -> dict[str, Any]:
        """The policy document at ``point``; values that the base has already are not written."""
        start = self.start
        changes = [
            (fields.steps(one.path), value)
            for one, value, before in zip(self.dimensions, point, start, strict=True)
            if not same(value, before)
        ]
        made: dict[str, Any] = fields.changed(self.base, self.configuration.document, changes)
        return made


def same(value: Value, other: Value) -> bool:
    """Whether two values are equal; a boolean equals only a boolean."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def read(raw: Any, base: Mapping[str, Any], release: Release = CURRENT) -> Space:
    """Read the list ``raw`` as a space around the document ``base`` of a ``release``.

    The ends of every dimension, or all of its choices, are tried one by one in the base policy, so that kube-scheduler
    accepts the policies. Raises DocumentError with all problems, under paths like ``space[2].step``.
    """
    loaded = load(base, release)
    if loaded.configuration is None:
        raise DocumentError(
            [DocumentProblem("", f"the policy itself is not valid: {text}") for text in loaded.errors[:3]]
        )
    return _read(raw, base, loaded.configuration)


def problems(around: Space, raw: Any) -> list[DocumentProblem]:
    """Problems of ``raw`` as a space around the policy of ``around``."""
    try:
        _read(raw, around.base, around.configuration)
    except DocumentError as error:
        return error.problems
    return []


def _read(raw: Any, base: Mapping[str, Any], configuration: Configuration) -> Space:
    problems: list[DocumentProblem] = []
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_DIMENSIONS:
        raise DocumentError([DocumentProblem("space", f"must be a list of 1 to {MOST_DIMENSIONS} dimensions")])
    found = [_dimension(one, f"space[{place}]", problems) for place, one in enumerate(raw)]
    dimensions = [one for one in found if one is not None]
    seen: set[str] = set()
    for place, one in enumerate(found):
        if one is not None and one.path in seen:
            problems.append(DocumentProblem(f"space[{place}].path", f"{one.path} is there twice"))
        seen.add(one.path if one is not None else "")
    if problems:
        raise DocumentError(problems)
    space = Space(tuple(dimensions), base, configuration)
    for place in range(len(dimensions)):
        problems += _tried(space, place)
    if problems:
        raise DocumentError(problems)
    return space


def _dimension(raw: Any, at: str, problems: list[DocumentProblem]) -> Dimension | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("path"), str):
        problems.append(DocumentProblem(at, "must be an object with a path, and from and to, or values"))
        return None
    count = len(problems)
    problems += [
        DocumentProblem(f"{at}.{key}", f"is unknown: known are {', '.join(KEYS)}") for key in raw if key not in KEYS
    ]
    try:
        fields.steps(raw["path"])
    except fields.PathError as error:
        problems.append(DocumentProblem(f"{at}.path", str(error)))
    made = _choice(raw, at, problems) if "values" in raw else _range(raw, at, problems)
    return made if len(problems) == count else None


def _choice(raw: dict[str, Any], at: str, problems: list[DocumentProblem]) -> Dimension | None:
    values = raw["values"]
    problems += [DocumentProblem(f"{at}.{key}", "cannot stand beside values") for key in KEYS[1:6] if key in raw]
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_VALUES:
        problems.append(DocumentProblem(f"{at}.values", f"must be a list of 2 to {MOST_VALUES} values"))
        return None
    if not all(isinstance(one, str | bool) or _finite(one) for one in values):
        problems.append(DocumentProblem(f"{at}.values", "must be numbers, strings or booleans"))
        return None
    if any(isinstance(one, str) and not one.isprintable() for one in values):
        problems.append(DocumentProblem(f"{at}.values", "holds a character that cannot be printed"))
    if len({(isinstance(one, bool), one) for one in values}) < len(values):
        problems.append(DocumentProblem(f"{at}.values", "holds a value twice"))
    return Dimension(raw["path"], choices=tuple(values))


def _range(raw: dict[str, Any], at: str, problems: list[DocumentProblem]) -> Dimension | None:
    low, high, step, log, count = (raw.get(key) for key in ("from", "to", "step", "log", "count"))
    for key, value in (("from", low), ("to", high)):
        if not _finite(value):
            problems.append(DocumentProblem(f"{at}.{key}", "must be a number" if key in raw else "is missing"))
    if not _finite(low) or not _finite(high):
        return None
    assert low is not None
    assert high is not None
    if low >= high:
        problems.append(DocumentProblem(f"{at}.to", f"must be above from ({low:g})"))
    if step is not None and (not _finite(step) or not 0 < step <= max(high - low, 0)):
        problems.append(DocumentProblem(f"{at}.step", "must be a number above 0, and not larger than from from to to"))
        return None
    if log is not None and not isinstance(log, bool):
        problems.append(DocumentProblem(f"{at}.log", "must be true or false"))
    if log is True and low <= 0:
        problems.append(DocumentProblem(f"{at}.from", "must be above 0 where log is true"))
    if log is True and step is not None:
        problems.append(DocumentProblem(f"{at}.step", "cannot stand beside log"))
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST_VALUES):
        problems.append(DocumentProblem(f"{at}.count", f"must be a whole number from 2 to {MOST_VALUES}"))
        return None
    return Dimension(raw["path"], low=low, high=high, step=step, log=log is True, count=count or 0)


def _finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= LARGEST


def _tried(space: Space, place: int) -> Iterator[DocumentProblem]:
    """kube-scheduler's errors on a dimension's values, each alone in the base policy."""
    one = space.dimensions[place]
    start = space.start
    key = "values" if one.choices else "from"
    if isinstance(start[place], list | dict):
        yield DocumentProblem(f"space[{place}].path", f"{one.path} is not one value: name a field within it")
        return
    for value in one.choices or (one.low, one.high):
        checkpoint()
        point = (*start[:place], value, *start[place + 1 :])
        try:
            errors = load(space.document(point), space.configuration.release).errors
        except fields.PathError as error:
            yield DocumentProblem(f"space[{place}].path", f"{one.path}: {error}")
            return
        if errors:
            yield DocumentProblem(f"space[{place}].{key}", f"{one.label} {value}: {errors[0]}")
        key = "to" if key == "from" else key
