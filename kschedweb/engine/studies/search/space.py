"""A space of policies: fields of a policy that vary, their values, and the document of each point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from kschedweb.engine.config import Configuration, Release
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.studies.actors.queues.setting_paths import (
    SettingError,
    build_settings,
    is_setting_path,
    parse_setting_path,
    read_settings,
)
from kschedweb.engine.studies.document.document import DocumentProblem, ScenarioError
from kschedweb.engine.studies.search import fields
from kschedweb.engine.values import dataclass

MOST_DIMENSIONS = 12
# Values of one dimension in a grid.
MOST_VALUES = 100
# Values of a continuous range in a grid, unless the space gives their number.
DEFAULT_COUNT = 5
# The largest int32, as weights and most integers in the API are int32.
LARGEST = 2**31 - 1
KEYS = ("path", "from", "to", "step", "log", "count", "values")

# A number, a string or a boolean.
Value = Any
Point = tuple[Value, ...]
NO_SETTINGS: Mapping[str, Value] = {}


@dataclass(frozen=True, slots=True)
class Dimension:
    """A field that varies over choices, or over a range.

    Values are integers if both ends and the step are.
    """

    path: str
    # Values to choose from; empty for a range.
    choices: tuple[Value, ...] = ()
    low: float = 0
    high: float = 0
    # Distance of values; None for a continuous range.
    step: float | None = None
    # True if values are spaced evenly by ratio.
    log: bool = False
    # Values in a grid; 0 for one at each step.
    count: int = 0

    @property
    def is_setting(self) -> bool:
        """True for a setting of quota queues, False for a field of the policy."""
        return is_setting_path(self.path)

    @property
    def whole(self) -> bool:
        ends = (self.low, self.high, self.step if self.step is not None else 1)
        return not self.choices and all(isinstance(bound, int) for bound in ends)

    @property
    def is_numeric(self) -> bool:
        return all(isinstance(choice, int | float) and not isinstance(choice, bool) for choice in self.choices)

    @property
    def label(self) -> str:
        """A readable name, such as ``NodeResourcesFit weight`` or ``NodeResourcesFit scoringStrategy.type``."""
        if self.is_setting:
            return parse_setting_path(self.path).label
        steps = fields.parse_path(self.path)
        weight_path = fields.profile_and_plugin(steps)
        if weight_path is not None:
            return f"{weight_path[1]} weight"
        for key in ("args", "argument"):
            if key in steps and isinstance(steps[steps.index(key) - 1], fields.Name):
                return f"{steps[steps.index(key) - 1]} {self.path.partition(f'.{key}.')[2]}"
        return self.path

    def values(self) -> tuple[Value, ...]:
        """Return the values of a grid, in order."""
        if self.choices:
            return self.choices
        if self.count:
            spaced = np.geomspace if self.log else np.linspace
            values = [self.round_value(float(value)) for value in spaced(self.low, self.high, self.count)]
        elif self.log and self.whole:
            doublings = int(math.log2(self.high / self.low))
            values = [*(self.low * 2**power for power in range(doublings + 1)), self.high]
        elif self.whole or self.step is not None:
            step = self.step or 1
            values = [self.round_value(self.low + step * place) for place in range(self._step_count(step) + 1)]
        else:
            spaced = np.geomspace if self.log else np.linspace
            values = [self.round_value(float(value)) for value in spaced(self.low, self.high, DEFAULT_COUNT)]
        return tuple(dict.fromkeys(values))

    @property
    def size(self) -> int:
        """The number of values in a grid, without making them."""
        if self.choices:
            return len(self.choices)
        if self.count or (self.log and self.whole) or not (self.whole or self.step is not None):
            return len(self.values())
        return self._step_count(self.step or 1) + 1

    def _step_count(self, step: float) -> int:
        # Slack, so that the upper end is not lost to rounding.
        return math.floor((self.high - self.low) / step + 1e-9)

    def round_value(self, value: float) -> float:
        """Return ``value`` rounded as it is written into a document."""
        return round(value) if self.whole else float(f"{value:.10g}")

    def can_hold(self, value: Value) -> bool:
        """Return whether the dimension can have ``value``."""
        if self.choices:
            return any(
                value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in self.choices
            )
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high

    def to_dict(self) -> Json:
        """Return plain data for ``read_space``."""
        if self.choices:
            return {"path": self.path, "values": list(self.choices)}
        plain: Json = {"path": self.path, "from": self.low, "to": self.high}
        if self.step is not None:
            plain["step"] = self.step
        return plain | ({"log": True} if self.log else {}) | ({"count": self.count} if self.count else {})


@dataclass(frozen=True, slots=True)
class Space:
    """Fields that vary around a policy, and settings of quota queues. A point has a value for each, in order."""

    dimensions: tuple[Dimension, ...]
    # The policy's document, and its configuration.
    base: Mapping[str, Any]
    configuration: Configuration
    # The scenario's own settings of quota queues by their paths.
    settings: Mapping[str, Value] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of points of the grid."""
        return math.prod(dimension.size for dimension in self.dimensions)

    def iterate_grid(self) -> Iterator[Point]:
        """Yield every combination of values; the last dimension varies fastest."""
        return itertools.product(*(dimension.values() for dimension in self.dimensions))

    @property
    def base_point(self) -> Point:
        """The value of each dimension in the base policy or the scenario; ``None`` if it has none."""
        values = (
            self.settings.get(dimension.path)
            if dimension.is_setting
            else fields.get_value(self.configuration, fields.parse_path(dimension.path))
            for dimension in self.dimensions
        )
        return tuple(None if value is fields.ABSENT else value for value in values)

    def can_hold(self, point: Sequence[Value]) -> bool:
        """Return whether every value of ``point`` is within its dimension."""
        return all(dimension.can_hold(value) for dimension, value in zip(self.dimensions, point, strict=True))

    def vary_one_dimension(self, limit: int) -> list[Point]:
        """Return points that differ from the base policy in one dimension only.

        Each dimension has up to ``limit`` values, with both ends. Dimensions alternate, so that the first part of the
        list covers all of them.
        """
        start = self.base_point
        by_dimension = []
        for place, dimension in enumerate(self.dimensions):
            values = dimension.values()
            chosen = np.unique(np.linspace(0, len(values) - 1, min(limit, len(values))).round().astype(int))
            points = [(*start[:place], values[at], *start[place + 1 :]) for at in chosen.tolist()]
            by_dimension.append([point for point in points if point != start])
        turns = itertools.chain.from_iterable(itertools.zip_longest(*by_dimension))
        return list(dict.fromkeys(point for point in turns if point is not None))

    def document_at(self, point: Sequence[Value]) -> Json:
        """Return the policy document at ``point``; values that the base has already are not written."""
        start = self.base_point
        changes = [
            (fields.parse_path(dimension.path), value)
            for dimension, value, before in zip(self.dimensions, point, start, strict=True)
            if not dimension.is_setting and not is_same_value(value, before)
        ]
        document: Json = fields.apply_changes(self.base, self.configuration.document, changes)
        return document

    def settings_at(self, point: Sequence[Value]) -> dict[str, Value]:
        """Return the settings of quota queues at ``point`` that differ from the scenario's own, by their paths."""
        return {
            dimension.path: value
            for dimension, value, before in zip(self.dimensions, point, self.base_point, strict=True)
            if dimension.is_setting and not is_same_value(value, before)
        }


def is_same_value(value: Value, other: Value) -> bool:
    """Return whether two values are equal; a boolean equals only a boolean."""
    # In Python, True == 1.
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def read_space(
    raw: Any,
    base: Mapping[str, Any],
    release: Release = CURRENT,
    settings: Mapping[str, Value] = NO_SETTINGS,
) -> Space:
    """Read the list ``raw`` as a space around the document ``base`` of a ``release``.

    ``settings`` are the scenario's own settings of quota queues, which may vary too. The ends of every dimension, or
    all of its choices, are tried one by one in the base policy, so that kube-scheduler accepts the policies. Raise
    DocumentError with all problems, under paths like ``space[2].step``.
    """
    loaded = load(base, release)
    if loaded.configuration is None:
        raise ScenarioError(
            [DocumentProblem("", f"the policy itself is not valid: {text}") for text in loaded.errors[:3]]
        )
    return _read_space(raw, base, loaded.configuration, settings)


def find_problems(around: Space, raw: Any) -> list[DocumentProblem]:
    """Return problems of ``raw`` as a space around the policy of ``around``."""
    try:
        _read_space(raw, around.base, around.configuration, around.settings)
    except ScenarioError as error:
        return error.problems
    return []


def _read_space(
    raw: Any, base: Mapping[str, Any], configuration: Configuration, settings: Mapping[str, Value]
) -> Space:
    problems: list[DocumentProblem] = []
    if not isinstance(raw, list) or not 1 <= len(raw) <= MOST_DIMENSIONS:
        raise ScenarioError([DocumentProblem("space", f"must be a list of 1 to {MOST_DIMENSIONS} dimensions")])
    parsed = [_read_dimension(entry, f"space[{place}]", problems) for place, entry in enumerate(raw)]
    dimensions = [dimension for dimension in parsed if dimension is not None]
    paths: set[str] = set()
    for place, dimension in enumerate(parsed):
        if dimension is not None and dimension.path in paths:
            problems.append(DocumentProblem(f"space[{place}].path", f"{dimension.path} is there twice"))
        paths.add(dimension.path if dimension is not None else "")
    if problems:
        raise ScenarioError(problems)
    space = Space(tuple(dimensions), base, configuration, settings)
    for place in range(len(dimensions)):
        check = _check_setting if space.dimensions[place].is_setting else _check_values
        problems += check(space, place)
    if problems:
        raise ScenarioError(problems)
    return space


def _read_dimension(raw: Any, at: str, problems: list[DocumentProblem]) -> Dimension | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("path"), str):
        problems.append(DocumentProblem(at, "must be an object with a path, and from and to, or values"))
        return None
    count = len(problems)
    problems += [
        DocumentProblem(f"{at}.{key}", f"is unknown: known are {', '.join(KEYS)}") for key in raw if key not in KEYS
    ]
    try:
        parse = parse_setting_path if is_setting_path(raw["path"]) else fields.parse_path
        parse(raw["path"])
    except (fields.PathError, SettingError) as error:
        problems.append(DocumentProblem(f"{at}.path", str(error)))
    dimension = _read_choices(raw, at, problems) if "values" in raw else _read_range(raw, at, problems)
    return dimension if len(problems) == count else None


def _read_choices(raw: Json, at: str, problems: list[DocumentProblem]) -> Dimension | None:
    values = raw["values"]
    problems += [DocumentProblem(f"{at}.{key}", "cannot stand beside values") for key in KEYS[1:6] if key in raw]
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_VALUES:
        problems.append(DocumentProblem(f"{at}.values", f"must be a list of 2 to {MOST_VALUES} values"))
        return None
    if not all(isinstance(value, str | bool) or _is_finite(value) for value in values):
        problems.append(DocumentProblem(f"{at}.values", "must be numbers, strings or booleans"))
        return None
    if any(isinstance(value, str) and not value.isprintable() for value in values):
        problems.append(DocumentProblem(f"{at}.values", "holds a character that cannot be printed"))
    if len({(isinstance(value, bool), value) for value in values}) < len(values):
        problems.append(DocumentProblem(f"{at}.values", "holds a value twice"))
    return Dimension(raw["path"], choices=tuple(values))


def _read_range(raw: Json, at: str, problems: list[DocumentProblem]) -> Dimension | None:
    low, high, step, log, count = (raw.get(key) for key in ("from", "to", "step", "log", "count"))
    for key, value in (("from", low), ("to", high)):
        if not _is_finite(value):
            problems.append(DocumentProblem(f"{at}.{key}", "must be a number" if key in raw else "is missing"))
    if not _is_finite(low) or not _is_finite(high):
        return None
    assert low is not None
    assert high is not None
    if low >= high:
        problems.append(DocumentProblem(f"{at}.to", f"must be above from ({low:g})"))
    if step is not None and (not _is_finite(step) or not 0 < step <= max(high - low, 0)):
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


def _is_finite(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= LARGEST


def _check_values(space: Space, place: int) -> Iterator[DocumentProblem]:
    """Yield kube-scheduler's errors on a dimension's values, each alone in the base policy."""
    dimension = space.dimensions[place]
    start = space.base_point
    key = "values" if dimension.choices else "from"
    if isinstance(start[place], list | dict):
        yield DocumentProblem(f"space[{place}].path", f"{dimension.path} is not one value: name a field within it")
        return
    for value in dimension.choices or (dimension.low, dimension.high):
        checkpoint()
        point = (*start[:place], value, *start[place + 1 :])
        try:
            errors = load(space.document_at(point), space.configuration.release).errors
        except fields.PathError as error:
            yield DocumentProblem(f"space[{place}].path", f"{dimension.path}: {error}")
            return
        if errors:
            yield DocumentProblem(f"space[{place}].{key}", f"{dimension.label} {value}: {errors[0]}")
        key = "to" if key == "from" else key


def _check_setting(space: Space, place: int) -> Iterator[DocumentProblem]:
    """Yield problems of a dimension that is a setting of quota queues."""
    dimension = space.dimensions[place]
    if dimension.path not in space.settings:
        reason = f"the scenario has no {dimension.path}" if space.settings else "the scenario has no quota queues"
        yield DocumentProblem(f"space[{place}].path", reason)
        return
    for key, value in [("values", value) for value in dimension.choices] or [
        ("from", dimension.low),
        ("to", dimension.high),
    ]:
        try:
            read_settings(build_settings({dimension.path: value}))
        except ScenarioError as error:
            yield DocumentProblem(f"space[{place}].{key}", f"{dimension.label} {value}: {error.problems[0].text}")
